/** A set where one append cannot hold it: a series of appends under one command, which a repeat completes. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { json, listenAt, named } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { oneStreamAtATime } from '../support/one-stream-engine.ts';

const api = (id: string, path = `/${id}/`): JsonObject => ({
  ...{ kind: 'api', id, apiKind: 'oas', document: named(id, listenAt(path)) },
});
const policy: JsonObject = { kind: 'policy', id: 'gold', document: { name: 'gold', access_rights: { b: {} } } };

describe('a set on an engine that writes one stream at a time', () => {
  const engine = oneStreamAtATime();
  let management: TestManagement;
  beforeEach(async () => {
    engine.stopAt(Number.POSITIVE_INFINITY);
    management = await startTestManagement({ wrap: engine.wrap });
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const apply = (objects: readonly JsonObject[], key: string, prune = true) =>
    management.call('POST', '/api/config/apply', JSON.stringify({ objects, prune }), {
      ...json,
      'idempotency-key': key,
    });
  const routes = async (): Promise<readonly string[]> => {
    const { json: body } = await management.call('GET', '/api/apis?sort=name');
    return (body['apis'] as readonly JsonObject[]).map(({ id, listenPath }) => `${id} ${listenPath}`);
  };

  /** Both change places, one goes, one is new, and a policy names it. */
  const first = [api('a'), api('c', '/first/'), api('gone')];
  const second = [api('a', '/first/'), api('b', '/a/'), api('c'), policy];

  it('is applied whole', async () => {
    expect((await apply(first, 'one')).status).to.equal(200);
    const answer = await apply(second, 'two');
    expect(answer.json['counts'], answer.text).to.deep.equal({ created: 2, updated: 2, deleted: 1, unchanged: 0 });
    expect(engine.appends()).to.be.above(5);
    expect(await routes()).to.deep.equal(['a /first', 'b /a', 'c /c']);
  });

  it('that was cut off at any place is completed by a repeat, which answers for all of it', async () => {
    let isWhole = false;
    for (let cut = 1; !isWhole; cut++) {
      await management[Symbol.asyncDispose]();
      engine.stopAt(Number.POSITIVE_INFINITY);
      management = await startTestManagement({ wrap: engine.wrap });
      expect((await apply(first, 'one')).status).to.equal(200);
      engine.stopAt(cut);
      const broken = await apply(second, 'two');
      isWhole = broken.status === 200;
      expect(isWhole ? undefined : broken.status, broken.text).to.be.oneOf([undefined, 503]);
      engine.stopAt(Number.POSITIVE_INFINITY);
      const repeated = await apply(second, 'two');
      expect(repeated.status, `cut ${cut}: ${repeated.text}`).to.equal(200);
      const changed = (repeated.json['objects'] as readonly JsonObject[]).map(({ kind, id }) => `${kind} ${id}`);
      expect(changed, `cut ${cut}`).to.have.members(['api a', 'api b', 'api c', 'api gone', 'policy gold']);
      expect(await routes(), `cut ${cut}`).to.deep.equal(['a /first', 'b /a', 'c /c']);
    }
  }).timeout(60_000);
});
