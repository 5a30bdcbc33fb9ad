/** The caller's address in the history: sealed in the log, shown to those who may read the audit, gone after its month is shredded. */
import { request } from 'node:http';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import type { StoredEvent } from '../../domain/event-store.ts';
import { sealerOf } from '../../src/management/held-secrets.ts';
import { createPersonalData, personalKid } from '../../src/management/personal-data.ts';
import { SecretError } from '../../src/stores/secrets/seal.ts';
import { named } from '../support/management-refusals.ts';
import { orgId, startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';

/** Loopback has many addresses; this one stands nowhere else. */
const address = '127.43.21.9';

describe("the caller's address", () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  /** Creates an API from an address of our choice. */
  const createFrom = (localAddress: string, id: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${management.token}`,
        'content-type': streamsType,
        'user-agent': 'a program/1.0',
      };
      const sent = request(
        `${management.url}/api/apis/streams`,
        { method: 'POST', localAddress, headers },
        (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode));
        },
      );
      sent.on('error', reject).end(JSON.stringify(named(id)));
    });
  const storedOf = (id: string): Promise<readonly StoredEvent[]> =>
    management.store.readStream(`api-${id}`, { limit: 100 });
  const auditOf = async (id: string): Promise<readonly JsonObject[]> =>
    (await management.call('GET', `/api/audit?aggregate=api-${id}`)).json['events'] as readonly JsonObject[];

  it('stands in the metadata of every event, sealed for that event', async () => {
    expect(await createFrom(address, 'sealed')).to.equal(200);
    const stored = await storedOf('sealed');
    expect(stored.length).to.be.greaterThan(1);
    for (const { meta } of stored) {
      expect(Object.values(meta).join('\n')).not.to.contain(address);
      expect(JSON.parse(meta['ip'] ?? '{}')).to.include({ kid: personalKid(orgId, new Date()), alg: 'A256GCM' });
      expect(meta['userAgentHash']).to.match(/^[0-9a-f]{64}$/);
    }
    expect(new Set(stored.map(({ meta }) => meta['ip'])).size).to.equal(stored.length);
  });

  it('is read by the audit', async () => {
    await createFrom(address, 'read');
    const events = await auditOf('read');
    expect(events.map(({ ip }) => ip)).to.deep.equal(events.map(() => address));
  });

  it('does not open at another event', async () => {
    await createFrom(address, 'moved');
    const [first, second] = await storedOf('moved');
    const { keyRing } = management;
    const personal = createPersonalData(sealerOf(keyRing), keyRing);
    const read = personal.reader();
    const text = first!.meta['ip']!;
    expect(await read(text, { ...first!, name: 'ip' })).to.equal(address);
    expect(await read(text, { ...first!, name: 'actorDetail' })).to.equal(undefined);
    expect(await read(text, { ...second!, name: 'ip' })).to.equal(undefined);
    expect(await read(text, { ...first!, stream: 'api-other', name: 'ip' })).to.equal(undefined);
  });

  it('is the one that a trusted proxy names, with the person that it has signed in, who gets no right by it', async () => {
    const trustedActorHeader = 'x-signed-in';
    await using other = await startTestManagement({ settings: { trustedProxies: ['127.0.0.1'], trustedActorHeader } });
    const headers = { 'x-forwarded-for': '198.51.100.7', [trustedActorHeader]: 'jo@example.org' };
    expect((await other.call('POST', '/api/apis/streams', named('behind'), headers)).status).to.equal(200);
    const [stored] = await other.store.readStream('api-behind', { limit: 1 });
    expect(Object.values(stored!.meta).join()).to.not.contain('example.org').and.not.contain('198.51');
    const { json } = await other.call('GET', '/api/audit?aggregate=api-behind');
    const [entry] = json['events'] as readonly JsonObject[];
    expect(entry).to.include({ ip: '198.51.100.7' });
    expect(entry?.['actor']).to.include({ type: 'token', detail: 'jo@example.org' });
    const table = await other.call('GET', '/api/audit?aggregate=api-behind&format=csv');
    const [titles = '', line = ''] = table.text.split('\r\n');
    expect(line.split(',')[titles.split(',').indexOf('actor_detail')]).to.equal('jo@example.org');
    const refused = await fetch(`${other.url}/api/apis`, { headers });
    expect(refused.status).to.equal(401);
  });

  it('is not left out when the key ring fails: nothing is changed, and the answer says 503', async () => {
    await using other = await startTestManagement();
    other.keyRing.ensure = () => Promise.reject(new SecretError('keyring_unusable', 'the disk is away'));
    const answer = await other.call('POST', '/api/apis/streams', named('unsealed'));
    expect(answer.status).to.equal(503);
    expect(answer.text).to.contain('The key ring is not available').and.not.to.contain('disk');
    expect(await other.store.readStream('api-unsealed', { limit: 1 })).to.deep.equal([]);
  });

  it('is gone with the key of its month, and everything else is read as before', async () => {
    await createFrom(address, 'gone');
    const before = await auditOf('gone');
    expect(await management.keyRing.shred(personalKid(orgId, new Date()))).to.equal(true);
    const after = await auditOf('gone');
    expect(after).to.deep.equal(before.map(({ ip: _, ...entry }) => entry));
    await createFrom(address, 'later');
    expect((await auditOf('later'))[0]).to.include({ ip: address });
    expect(await auditOf('gone')).to.deep.equal(after);
  });
});
