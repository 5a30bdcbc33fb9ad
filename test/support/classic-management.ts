/** Classic definitions over the management API: what is sent, what is stored, and where their upstream is. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { classicInVersions } from './classic-definitions.ts';
import { json } from './management-refusals.ts';
import type { Answer, TestManagement } from './management-server.ts';

/** Nobody asks it; the user info is a secret. */
export const classicTarget = 'http://user:clear@127.0.0.1:9001/base';

export const inVersions = (id: string, versions: JsonObject, members?: JsonObject): JsonObject =>
  classicInVersions(id, classicTarget, versions, members);

export function classicClient(management: () => TestManagement) {
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    management().call(method, path, body === undefined ? undefined : JSON.stringify(body), { ...json, ...headers });
  const create = async (body: JsonObject): Promise<JsonObject> => {
    const answer = await send('POST', '/api/apis', body);
    expect(answer.status, answer.text).to.equal(200);
    return body;
  };
  return { send, create };
}
