/** Tables of refusals: what is sent, and the status, code and text that come back; nothing may be left in the log. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument } from './documents.ts';
import {
  startTestManagement,
  streamsType,
  type TestManagement,
  type TestManagementOptions,
} from './management-server.ts';

export const vendor = { 'content-type': streamsType };
export const json = { 'content-type': 'application/json' };
export const pem = { 'content-type': 'application/x-pem-file' };
export const problem = { accept: 'application/problem+json' };

export type Case = {
  readonly name: string;
  readonly send: readonly [method: string, path: string, body?: unknown, headers?: Record<string, string>];
  readonly status: number;
  readonly code: string;
  readonly text: string | RegExp;
};

export const streams = '/api/apis/streams';
export const known = `${streams}/known`;
export const listenAt = (value: string) => ({ server: { listenPath: { value, strip: true } } });

/** A definition whose name and listen path follow from its id. */
export const named = (id: string, members: Parameters<typeof apiDocument>[0] = {}): JsonObject =>
  apiDocument({
    ...members,
    info: { id, name: id, ...members.info },
    server: { listenPath: { value: `/${id}/`, strip: true }, ...members.server },
  });

/** With the APIs `known` (later renamed to "renamed") and `other`. */
export async function startWithTwoApis(options: TestManagementOptions = {}): Promise<TestManagement> {
  const management = await startTestManagement(options);
  const create = (id: string) =>
    management.call('POST', streams, apiDocument({ info: { id }, ...listenAt(`/${id}/`) }));
  await create('known');
  await create('other');
  await management.call('PUT', known, apiDocument({ info: { id: 'known', name: 'renamed' }, ...listenAt('/known/') }));
  return management;
}

/** One test per row, in both forms of errors. */
export function refuse(cases: readonly Case[], management: () => TestManagement): void {
  for (const { name, send, status, code, text } of cases) {
    it(name, async () => {
      const { call, store } = management();
      const before = await store.head();
      const [method, path, body, headers] = send;
      const answer = await call(method, path, body, headers);
      expect(answer.status, answer.text).to.equal(status);
      expect(answer.headers.get('x-svc-error-code')).to.equal(code);
      const said = answer.json['Message'] ?? answer.json['detail'];
      if (typeof text === 'string') expect(said).to.equal(text);
      else expect(said).to.match(text);
      const inOtherForm = await call(method, path, body, { ...headers, ...problem });
      expect(inOtherForm.headers.get('content-type')).to.contain('application/problem+json');
      expect(inOtherForm.json).to.include({ status, code, detail: said });
      expect(await store.head()).to.equal(before);
    });
  }
}
