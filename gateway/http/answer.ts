/** Writes answers: a complete one of the gateway's own, or the head of an upstream's whose body follows. */
import { drain } from './body.ts';
import type { Context } from './context.ts';
import type { Answer } from './errors.ts';
import { withoutHeaders } from './headers.ts';
import { STATUS_CODES } from './node-http.ts';

/** Sends an answer of the gateway's own and notes why. */
export function sendAnswer(context: Context, answer: Answer): void {
  const { response } = context;
  if (context.isOver || response.headersSent) return;
  context.failure = answer.failure;
  context.answer = { status: answer.status, statusText: '', headers: [...answer.headers] };
  context.answerBody = answer.body;
  if (context.hasBody && !context.incoming.complete) closeOrDrain(context);
  writeAnswerHead(context);
  const { body } = answer;
  if (body.length > 0 && context.head.method !== 'HEAD') context.bytesOut = Buffer.byteLength(body);
  if (typeof body === 'string') response.end(body);
  else writeBytes(context, body);
}

/** Largest body that is joined to its head as text: one buffer for one write costs half of what a list of buffers does. */
export const joinedBytes = 16_384;

function writeBytes({ response }: Context, { buffer, byteOffset, byteLength }: Uint8Array): void {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  if (byteLength <= joinedBytes) response.end(bytes.toString('latin1'), 'latin1');
  else response.end(bytes);
}

/** A client that waits for 100 may send its body or not: only a closed connection is clear about what comes next. */
function closeOrDrain({ incoming, response, body, expectsContinue }: Context): void {
  if (expectsContinue && body === undefined) response.shouldKeepAlive = false;
  else if (body === undefined) drain(incoming);
  else body.destroy();
}

/** Writes the head that stands in `context.answer`. Throws when it holds what no head may hold. */
export function writeAnswerHead(context: Context): void {
  const { response, answer, answerHeaders, route } = context;
  if (!answer) throw new Error('There is no answer to write.');
  let { headers } = answer;
  if (context.withheld) headers = withoutHeaders(headers, context.withheld);
  if (answerHeaders.length > 0) headers = replaced(headers, answerHeaders);
  if (route.definition.revisionHeader) headers = replaced(headers, ['x-svc-config-revision', context.revision]);
  answer.headers = headers;
  if (context.owner.isStopping) response.shouldKeepAlive = false;
  response.writeHead(answer.status, statusText(answer.status, answer.statusText), headers);
}

const statusText = (status: number, text: string): string => {
  const usual = STATUS_CODES[status] ?? '';
  return text === '' || text === usual || !/^[\t\x20-\x7e\x80-\xff]*$/.test(text) ? usual : text;
};

/** The gateway's headers take the place of the same names; `Vary` is added to, since both parts hold. */
function replaced(headers: readonly string[], set: readonly string[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!isSet(set, name)) result.push(name, headers[i + 1] as string);
  }
  for (const part of set) result.push(part);
  return result;
}

function isSet(set: readonly string[], name: string): boolean {
  for (let i = 0; i < set.length; i += 2) {
    const other = set[i] as string;
    if (other.length !== name.length || other === 'Vary') continue;
    if (other === name || other.toLowerCase() === name.toLowerCase()) return true;
  }
  return false;
}
