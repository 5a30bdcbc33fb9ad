/** Tokens in tests: issuing one over HTTP, and asking with it. */
import { assert } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { json } from './management-refusals.ts';
import { type Answer, bearer, type TestManagement } from './management-server.ts';

export type Issued = { readonly id: string; readonly token: string; readonly answer: Answer };

export async function issue(
  { call }: TestManagement,
  request: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): Promise<Issued> {
  const answer = await call('POST', '/api/tokens', JSON.stringify({ name: 'test', ...request }), {
    ...json,
    ...headers,
  });
  assert.equal(answer.status, 200, answer.text);
  return { id: String(answer.json['id']), token: String(answer.json['token']), answer };
}

/** The status of a read with this token. */
export const statusWith = async ({ call }: TestManagement, token: string, path = '/api/tokens/me'): Promise<number> =>
  (await call('GET', path, undefined, bearer(token))).status;
