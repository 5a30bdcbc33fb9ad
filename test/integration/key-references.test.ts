/** What the log says of the keys of definitions and webhooks: live, needed by earlier revisions, shredded; and how the keeper holds the ring to it. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { keyCommands } from '../../src/compose/key-upkeep.ts';
import { shredDocumentSecret } from '../../src/management/definitions/definition-secrets.ts';
import { readKeyReferences } from '../../src/management/key-references.ts';
import { startKeyKeeper } from '../../src/management/reactors/key-keeper.ts';
import { systemContext } from '../../src/management/system-context.ts';
import { eventually } from '../support/eventually.ts';
import { named } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';

const json = { 'content-type': 'application/json' };

describe('keys of definitions and webhooks', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement();
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const done = async (method: string, path: string, body?: JsonObject | string, headers = {}): Promise<void> => {
    const answer = await management.call(method, path, body, headers);
    expect(answer.status, answer.text).to.equal(200);
  };
  const withPassword = (password: string): JsonObject =>
    named('kept', { upstream: { url: `http://user:${password}@127.0.0.1:9001/` } });
  const documents = async () =>
    [...(await readKeyReferences(management.store)).documents].map(([kid, { stream, isLive }]) => ({
      kid,
      stream,
      isLive,
    }));
  const usesOf = async () => (await documents()).map(({ stream, isLive }) => [stream, isLive]);
  const shred = (stream: string, kid: string) =>
    keyCommands(management.store, management.keyRing, () => new Date()).run(
      systemContext(orgId, 'tester'),
      shredDocumentSecret(management.store, { orgId, stream, kid }),
    );
  const kept = () => ({
    has: (kid: string) => management.keyRing.has(kid),
    shred: (kid: string) => management.keyRing.shred(kid),
    kids: async () => (await management.keyRing.status()).kids.map(({ kid }) => kid),
  });
  const keeper = () => {
    const { store, keyRing, log } = management;
    return startKeyKeeper({ store, ring: kept(), commands: keyCommands(store, keyRing, () => new Date()), log });
  };

  it('are live while the newest document has the secret, and stay for earlier revisions', async () => {
    await done('POST', '/api/apis/streams', withPassword('first'));
    await done('POST', '/api/webhooks', '{"id":"hook","url":"http://a/","secret":"second"}', json);
    expect(await usesOf()).to.deep.equal([
      ['api-kept', true],
      ['webhook-hook', true],
    ]);
    await done('PUT', '/api/apis/streams/kept', withPassword('third'));
    await done('DELETE', '/api/webhooks/hook');
    expect(await usesOf()).to.deep.equal([
      ['api-kept', false],
      ['api-kept', true],
      ['webhook-hook', false],
    ]);
  });

  it('are named in the health when they do not open, until they are shredded on purpose', async () => {
    await done('POST', '/api/apis/streams', withPassword('first'));
    const [{ kid } = { kid: '' }] = await documents();
    await management.keyRing.shred(kid);
    const running = keeper();
    try {
      const missing = `1 of 0 keys of certificates and 1 of other objects do not open: ${kid} of api-kept (key_missing)`;
      await eventually(() => expect(running.health()).to.deep.equal({ status: 'warn', output: missing }));
      await shred('api-kept', kid);
      await eventually(() => expect(running.health().status).to.equal('pass'));
      expect(await documents()).to.deep.equal([]);
    } finally {
      await running.stop();
    }
  });

  it('that were shredded go again from a ring that comes from a backup', async () => {
    await done('POST', '/api/apis/streams', withPassword('first'));
    const [{ kid } = { kid: '' }] = await documents();
    await shred('api-kept', kid);
    expect(await management.keyRing.has(kid), 'as in a backup').to.equal(true);
    const running = keeper();
    try {
      await eventually(async () => expect(await management.keyRing.has(kid)).to.equal(false));
    } finally {
      await running.stop();
    }
  });
});
