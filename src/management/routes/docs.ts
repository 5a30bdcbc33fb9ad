/** The pages of the management plane: the API's own document to read and try, and what each error code means. */
import { readFile } from 'node:fs/promises';
import type { JsonObject } from '../../../domain/event.ts';
import { at } from '../../../domain/json.ts';
import type { Call } from '../call.ts';
import { type ErrorCode, errorCatalogue, Rejection } from '../errors.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

/** Everything comes from here, nothing is framed, nothing is sent elsewhere. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const headers = { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' };

/** The files that are served, and no other: names of a request never become paths. */
const files: Readonly<Record<string, { readonly name: string; readonly type: string }>> = {
  '/docs': { name: 'page.html', type: 'text/html' },
  '/docs/page.css': { name: 'page.css', type: 'text/css' },
  '/docs/page.js': { name: 'page.js', type: 'text/javascript' },
};

async function file(path: string): Promise<Reply> {
  const { name = '', type = '' } = files[path] ?? {};
  const text = await readFile(new URL(`../page/${name}`, import.meta.url), 'utf8');
  return { status: 200, headers, type, stream: once(text) };
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(errorCatalogue, code);

function problem({ params }: Call, { document }: Services): Reply {
  const code = params['code'] ?? '';
  if (!isCode(code)) throw new Rejection('route_unknown', `There is no error code ${JSON.stringify(code)}`);
  return { status: 200, headers, type: 'text/html', stream: once(problemPage(code, document())) };
}

function problemPage(code: ErrorCode, document: JsonObject): string {
  const { status, title } = errorCatalogue[code];
  const operations = operationsWith(code, status, document);
  const list = operations.map(({ id, text }) => `<li><a href="/docs#${escaped(id)}">${escaped(text)}</a></li>`);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${code} · svc</title>
    <link rel="stylesheet" href="/docs/page.css" />
  </head>
  <body class="problem">
    <p><a href="/docs">svc management API</a></p>
    <h1><code>${code}</code></h1>
    <p>Status ${status}. ${escaped(title)}.</p>
    <p>${escaped(adviceFor(status))}</p>
    <h3>Operations that answer it</h3>
    <ul>${list.join('')}</ul>
  </body>
</html>
`;
}

/** What holds for all codes of a status; the answer itself says what was wrong and where. */
const advice: Readonly<Record<number, string>> = {
  400: 'The request cannot be carried out as it stands, and nothing was changed. The member "errors" names each place with a JSON pointer.',
  401: 'Send a token that is known, not expired and not revoked: Authorization: Bearer <token>.',
  403: 'The token is known, but its scopes do not cover this. GET /api/tokens/me shows what it may do.',
  404: 'There is no such object in your organisation. What belongs to others looks the same.',
  409: 'It conflicts with what is there. Read the current state, then decide again.',
  412: 'Somebody changed the object since you read it. The answer has the current ETag and, in the problem form, the difference.',
  413: 'Send less; the text names the limit.',
  415: 'Send one of the types that the header Accept-Post or Accept-Patch lists.',
  422: 'The request is understood and refused for what the text says; nothing was changed.',
  428: 'Read the object, and send its ETag in If-Match.',
  429: 'Wait as long as Retry-After says.',
  500: 'A fault of the program. The log of the server says more under the request id of the answer.',
  503: 'Something that is needed is away. Repeat the request after Retry-After; with the same Idempotency-Key a change happens once.',
};

const adviceFor = (status: number): string => advice[status] ?? 'The text of the answer says what to do.';

function operationsWith(code: ErrorCode, status: number, document: JsonObject) {
  return Object.entries(document['paths'] as JsonObject).flatMap(([path, item]) =>
    Object.entries(item as JsonObject).flatMap(([method, operation]) => {
      const description = String(at(operation, 'responses', String(status), 'description') ?? '');
      const id = String(at(operation, 'operationId'));
      return description.includes(`\`${code}\``) ? [{ id, text: `${method.toUpperCase()} ${path}` }] : [];
    }),
  );
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const row = { method: 'GET', tag: 'meta', form: 'problem', parameters: [] } as const;

const fileRow = (path: string, operationId: string, summary: string): Route => ({
  ...row,
  path,
  operationId,
  summary,
  answer: { description: summary, type: files[path]?.type ?? '', schema: { type: 'string' }, example: '…' },
  errors: [],
  handle: () => file(path),
});

export const docsRoutes: readonly Route[] = [
  fileRow('/docs', 'getDocsPage', 'This document as a page to read and to try'),
  fileRow('/docs/page.css', 'getDocsStyle', 'How the page looks'),
  fileRow('/docs/page.js', 'getDocsScript', 'What draws the page'),
  {
    ...row,
    path: '/docs/problems/{code}',
    operationId: 'getProblemPage',
    summary: 'What an error code means, and which operations answer it',
    answer: { description: 'A page', type: 'text/html', schema: { type: 'string' }, example: '…' },
    errors: ['route_unknown'],
    handle: (call, services) => problem(call, services),
  },
];
