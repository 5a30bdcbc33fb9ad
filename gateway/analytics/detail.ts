/** Decides which requests are recorded in detail, and takes what that needs while they pass; what is written of it stands in detail-text.ts (pump design 4). */
import type { ApiDefinition } from '../../domain/api/definition.ts';
import type { OrgId } from '../../domain/ids.ts';
import { type DetailRules, detailRules, type Recording } from '../../domain/record-detail.ts';
import type { RunningOrganisation } from '../access/organisations.ts';
import { BodyCopy, type CopiedBody, type CopyBudget } from '../http/body-copy.ts';
import type { Context, Detail, PendingDetail, RouteDetail } from '../http/context.ts';
import { headerValue } from '../http/headers.ts';
import { STATUS_CODES } from '../http/node-http.ts';
import { type DetailPlan, planOf, type SeenExchange, writtenDetail } from './detail-text.ts';
import { statusOf } from './outcome.ts';

export type DetailSurroundings = {
  readonly recording: Recording;
  readonly organisationOf: (orgId: OrgId) => RunningOrganisation;
  /** Shared by all requests of the gateway; undefined where nothing is recorded. */
  readonly copies: CopyBudget | undefined;
};

/** Undefined for an API none of whose requests can be asked for in detail: it pays for nothing. */
export function routeDetail(definition: ApiDefinition, surroundings: DetailSurroundings): RouteDetail | undefined {
  const { recordsDetail, trafficLogs, authentication, orgId } = definition;
  const { recording, organisationOf, copies: budget } = surroundings;
  const { detail, enforceOrgDetail } = recording;
  if (!trafficLogs || !budget) return undefined;
  // A key may ask for it.
  if (!(recordsDetail || detail.enabled || enforceOrgDetail || authentication)) return undefined;
  const rules = detailRules(detail, definition.detail);
  const organisation = enforceOrgDetail ? organisationOf(orgId) : undefined;
  const isAsked = ({ access }: Context): boolean =>
    recordsDetail || access?.isDetailed === true || (organisation?.records?.detail ?? detail.enabled);
  const plan = planOf(rules, definition);
  const begin: RouteDetail['begin'] = (context) =>
    context.upgrade === undefined && isAsked(context) && isSampled(context, rules) ? copiesOf(rules, budget) : null;
  return {
    begin,
    end: (context) => {
      const copies = context.detail === undefined ? begin(context) : context.detail;
      return copies ? pending(context, copies, plan) : undefined;
    },
  };
}

const copiesOf = ({ maxBodyBytes }: DetailRules, budget: CopyBudget): Detail => ({
  request: new BodyCopy(maxBodyBytes, budget),
  response: new BodyCopy(maxBodyBytes, budget),
});

/** By the id of the request, which is random: the same whoever asks, and whenever. */
const isSampled = ({ requestId }: Context, { sample }: DetailRules): boolean =>
  sample >= 1 || Number.parseInt(requestId.slice(0, 8), 16) / 2 ** 32 < sample;

/** A stream of events lasts, and is recorded without detail like an upgraded connection. */
const isEventStream = ({ answer }: Context): boolean =>
  /^text\/event-stream\b/i.test((answer && headerValue(answer.headers, 'content-type')) ?? '');

function pending(context: Context, copies: Detail, plan: DetailPlan): PendingDetail | undefined {
  const [sent, answered] = [copies.request.finish(), copies.response.finish()];
  if (isEventStream(context) || (plan.rules.onErrorOnly && statusOf(context) < 400)) return undefined;
  const { incoming, answer, token } = context;
  const { method = '', url = '', httpVersion, rawHeaders } = incoming;
  const request = requestBody(context, sent, plan.rules);
  const response = answerBody(context, answered, plan.rules);
  // The message itself would keep its connection.
  const seen: SeenExchange = {
    request: { start: `${method} `, target: url, end: ` HTTP/${httpVersion}`, headers: rawHeaders, body: request },
    response: answer && {
      start: `HTTP/1.1 ${answer.status} ${answer.statusText || (STATUS_CODES[answer.status] ?? '')}`,
      headers: answer.headers,
      body: response,
    },
    credential: token,
    added: context.headers.filter(
      (_, index) => index % 2 === 1 && plan.own.headers.has(context.headers[index - 1] ?? ''),
    ),
  };
  return {
    bytes: heldBytes(seen, plan.rules),
    sizes: { request: request.total, response: response.total },
    write: () => writtenDetail(seen, plan),
  };
}

/** A body that a step had to read whole has not passed; one that nobody read is missing as far as its length is known. */
function requestBody(
  { bufferedBody, head, body }: Context,
  sent: CopiedBody,
  { maxBodyBytes }: DetailRules,
): CopiedBody {
  if (bufferedBody) return { bytes: Buffer.from(bufferedBody.subarray(0, maxBodyBytes)), total: bufferedBody.length };
  const total = Math.max(sent.total, body?.bytes ?? 0, head.contentLength);
  return { bytes: sent.bytes, total };
}

function answerBody(
  { answerBody: own, head }: Context,
  answered: CopiedBody,
  { maxBodyBytes }: DetailRules,
): CopiedBody {
  if (own === undefined) return answered;
  if (head.method === 'HEAD') return { bytes: Buffer.alloc(0), total: 0 };
  // One that is kept stays as it is, whatever becomes of this.
  const bytes = typeof own === 'string' ? Buffer.from(own) : own;
  return { bytes: Buffer.from(bytes.subarray(0, maxBodyBytes)), total: bytes.length };
}

/** An encoded body may grow up to the bound when it is written. */
function heldBytes({ request, response }: SeenExchange, { maxBodyBytes }: DetailRules): number {
  const messages = [request, ...(response ? [response] : [])];
  const texts = messages.map(({ headers, body }) => {
    const isEncoded = body.total > 0 && headerValue(headers, 'content-encoding') !== undefined;
    const text = isEncoded ? maxBodyBytes : body.bytes.length;
    return headers.reduce((sum, part) => sum + part.length + 2, text);
  });
  return Math.ceil((texts.reduce((sum, length) => sum + length, request.target.length) * 4) / 3);
}
