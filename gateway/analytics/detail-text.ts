/** Writes a request and its answer in the form that they have on the wire: redacted, cut, and only then base64 (pump design 4). */
import type { ApiDefinition } from '../../domain/api/definition.ts';
import { withoutKeys } from '../../domain/key-text.ts';
import type { DetailPart, DetailRules } from '../../domain/record-detail.ts';
import type { CopiedBody } from '../http/body-copy.ts';
import type { WrittenDetail } from '../http/context.ts';
import { shownHeaders, shownTarget } from '../http/credentials.ts';
import { HeaderNames, headerValues, type RawHeaders, withoutHeaders } from '../http/headers.ts';
import { codingsOf, decoded } from './decode.ts';
import { type JsonPath, jsonPath, withoutPaths } from './json-paths.ts';
import {
  type OfApi,
  type OwnSecrets,
  ownSecrets,
  secretsOf,
  withoutBeginnings,
  withoutSecrets,
} from './repeated-secrets.ts';

/** The rules of an API, taken apart once. */
export type DetailPlan = {
  readonly rules: DetailRules;
  readonly authentication: ApiDefinition['authentication'];
  readonly hidden: HeaderNames;
  readonly own: OwnSecrets;
  readonly paths: readonly JsonPath[];
  readonly isKept: (contentType: string) => boolean;
};

type Message = { readonly start: string; readonly headers: RawHeaders; readonly body: CopiedBody };

export type SeenExchange = {
  readonly request: Message & { readonly target: string; readonly end: string };
  readonly response: Message | undefined;
  /** That let the request in; '' when there was none. */
  readonly credential: string;
  /** Values of hidden headers that the API has added for its upstream. */
  readonly added: readonly string[];
};

export function planOf(rules: DetailRules, api: OfApi): DetailPlan {
  const hidden = new HeaderNames(rules.redactHeaders);
  return {
    ...{ rules, authentication: api.authentication, hidden },
    own: ownSecrets(api, hidden),
    paths: rules.redactJson.map(jsonPath),
    isKept: mediaTypes(rules.contentTypes),
  };
}

function mediaTypes(types: readonly string[]): DetailPlan['isKept'] {
  const forms = types.map((type) => type.toLowerCase().split('*'));
  return (contentType) => {
    const [type = ''] = contentType.toLowerCase().split(';', 1);
    return forms.some((form) => fits(form, type.trim()));
  };
}

/** Whether a text has the parts in their order, the first at its beginning and the last at its end; in linear time. */
function fits([first = '', ...between]: readonly string[], text: string): boolean {
  const last = between.pop();
  if (last === undefined) return text === first;
  const end = text.length - last.length;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of between) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= end;
}

export async function writtenDetail(
  { request, response, credential, added }: SeenExchange,
  plan: DetailPlan,
): Promise<WrittenDetail> {
  const { start, target, end } = request;
  const secrets = secretsOf({ ...request, credential, added }, plan);
  const line = `${start}${shownTarget(target, plan.authentication)}${end}`;
  const asked = await written({ ...request, start: line }, plan, { side: 'req', secrets });
  const answered = response ? await written(response, plan, { side: 'res', secrets }) : nothing;
  const truncated = { request: asked.missing, response: answered.missing };
  return {
    raw_request: asked.text,
    raw_response: answered.text,
    ...(truncated.request + truncated.response > 0 ? { truncated } : {}),
  };
}

type Written = { readonly text: string; readonly missing: number };

const nothing: Written = { text: '', missing: 0 };

type Side = { readonly side: 'req' | 'res'; readonly secrets: readonly string[] };

async function written({ start, headers, body }: Message, plan: DetailPlan, { side, secrets }: Side): Promise<Written> {
  const has = (part: 'headers' | 'body'): boolean => plan.rules.parts.includes(`${side}.${part}` satisfies DetailPart);
  if (!has('headers') && !has('body')) return nothing;
  const codings = codingsOf(headerValues(headers, 'content-encoding').join(','));
  const contentType = headerValues(headers, 'content-type').join(',');
  const shown = has('body') ? await bodyText({ body, contentType, codings }, plan, secrets) : nothing;
  // The body stands there neither in chunks nor encoded.
  const told = withoutHeaders(headers, codings.length > 0 ? ofCoding : ofFraming);
  const lines = has('headers') ? shownHeaders(told, plan.authentication, plan.hidden) : [];
  const head = withoutSecrets(withoutKeys(`${[start, ...lines].join('\r\n')}\r\n\r\n`), secrets);
  return { text: Buffer.from(head + shown.text, 'latin1').toString('base64'), missing: shown.missing };
}

const ofFraming = new HeaderNames(['transfer-encoding']);
const ofCoding = new HeaderNames(['transfer-encoding', 'content-encoding', 'content-length']);

type Body = { readonly body: CopiedBody; readonly contentType: string; readonly codings: readonly string[] };

/** A letter stands for a byte. */
async function bodyText(
  { body, contentType, codings }: Body,
  plan: DetailPlan,
  secrets: readonly string[],
): Promise<Written> {
  const { rules, paths, isKept } = plan;
  const { maxBodyBytes } = rules;
  const { total } = body;
  if (total === 0) return nothing;
  const plain = isKept(contentType) ? await decoded(body.bytes, codings, maxBodyBytes) : undefined;
  if (!plain) return left(total);
  const missing = total - body.bytes.length + plain.beyond;
  const isChecked = paths.length > 0 && (/json/i.test(contentType) || looksLikeJson(plain.bytes));
  // What cannot be read whole cannot be redacted.
  const redacted = isChecked ? (missing > 0 ? undefined : redactedJson(plain.bytes, paths)) : plain.bytes;
  if (!redacted) return left(total);
  const text = withoutSecrets(withoutKeys(redacted.toString('latin1')), secrets);
  const cut = missing + Math.max(0, text.length - maxBodyBytes);
  if (cut === 0) return { text, missing: 0 };
  return { text: `${withoutBeginnings(text.slice(0, maxBodyBytes), secrets)}\n[cut: ${cut} bytes]`, missing: cut };
}

const left = (total: number): Written => ({ text: `[left out: ${total} bytes]`, missing: total });

/** Whatever its content type says. */
const looksLikeJson = (bytes: Buffer): boolean => /^(?:\xef\xbb\xbf)?\s*[{[]/.test(bytes.toString('latin1'));

function redactedJson(bytes: Buffer, paths: readonly JsonPath[]): Buffer | undefined {
  try {
    return Buffer.from(withoutPaths(bytes.toString('utf8'), paths));
  } catch {
    return undefined; // No JSON: it is left out whole, and the record says so.
  }
}
