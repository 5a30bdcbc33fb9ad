/** Versions of an API over the management API, for tests: what is sent to make them, and what stands in the log afterwards. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { decodeEvent } from '../../domain/events.ts';
import { at } from '../../domain/json.ts';
import { json, named, streams } from './management-refusals.ts';
import type { Answer, TestManagement } from './management-server.ts';

export const oas = '/api/apis/oas';
export const internal = { state: { active: true, internal: true } };

export const block = (members: JsonObject = {}): JsonObject => ({
  ...{ enabled: true, name: 'v1', default: 'self', location: 'header', key: 'X-Version', versions: [] },
  ...members,
});

type Members = Parameters<typeof named>[1];

/** Every call but `call` has to be accepted. */
export function versionsOf(management: () => TestManagement) {
  const call: TestManagement['call'] = (...args) => management().call(...args);
  const done = async (...args: Parameters<TestManagement['call']>): Promise<Answer> => {
    const answer = await call(...args);
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  };
  return {
    call,
    done,
    create: (id: string, members?: Members, route = streams) =>
      done('POST', route, named(id, members), route === oas ? json : {}),
    addVersion: (id: string, query: Readonly<Record<string, string>>, members: Members = { info: internal }) =>
      done('POST', `${streams}?${new URLSearchParams(query)}`, named(id, members)),
    versioningOf: async (id: string) =>
      at((await done('GET', `${streams}/${id}`)).json, 'x-svc-api-gateway', 'info', 'versioning'),
    lastEvent: async (id: string) => {
      const [stored] = await management().store.readStream(`api-${id}`, { back: true, limit: 1 });
      return stored && decodeEvent(stored);
    },
  };
}
