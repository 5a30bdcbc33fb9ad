/** Writes and reads of a whole configuration over the management API, for tests of its past. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { shortPosition } from '../../domain/event-store.ts';
import { type DomainEvent, encodeEvent } from '../../domain/events.ts';
import { openApi } from './documents.ts';
import { streamOf } from './given.ts';
import { json, named, pem, streams } from './management-refusals.ts';
import type { Answer, TestManagement } from './management-server.ts';
import type { MadeCertificate } from './test-ca.ts';

export const listOf = (answer: Answer, member: string) => answer.json[member] as readonly JsonObject[];

/** Every write is accepted and answers the position after it. */
export function configurationOf(management: () => TestManagement) {
  const call: TestManagement['call'] = (...args) => management().call(...args);
  const head = async () => shortPosition(await management().store.head());
  const write = async (...args: Parameters<TestManagement['call']>): Promise<string> => {
    const answer = await call(...args);
    expect(answer.status, answer.text).to.equal(200);
    return head();
  };
  return {
    call,
    head,
    write,
    create: (id: string, members?: Parameters<typeof named>[1]) => write('POST', streams, named(id, members)),
    move: (id: string, path: string) => write('PATCH', `${streams}/${id}?listenPath=${path}`, openApi()),
    remove: (id: string) => write('DELETE', `/api/apis/${id}`),
    upload: (made: MadeCertificate, isKeyed = true) =>
      write('POST', '/api/certs', made.certificate + (isKeyed ? made.privateKey : ''), pem),
    restore: (body: JsonObject, query = '', headers = {}): Promise<Answer> =>
      call('POST', `/api/config/restore${query}`, body, { ...json, ...headers }),
    listenPathOf: async (id: string) => {
      const apis = listOf(await call('GET', `/api/apis?minRevision=${await head()}`), 'apis');
      return apis.find((api) => api['id'] === id)?.['listenPath'];
    },
    certificates: async () =>
      listOf(await call('GET', `/api/certs?mode=detailed&minRevision=${await head()}`), 'cert_basics'),
    /** Past every command: what an earlier version of the program may have written. */
    append: async (event: DomainEvent): Promise<string> => {
      const { store } = management();
      const stream = streamOf(event);
      const [last] = await store.readStream(stream, { back: true, limit: 1 });
      const events = [encodeEvent(event, randomUUID(), { v: '1' })];
      const expected = last?.revision ?? ('noStream' as const);
      await store.append([{ stream, expected, events }], { commandId: randomUUID(), timeoutMs: 1_000 });
      return head();
    },
  };
}
