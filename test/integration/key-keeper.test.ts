/** What looks after the key ring: shredding with the certificate, the end of what a crash left, missing keys, old months. */
import { expect } from 'chai';
import { type EventStore, forwardedStore } from '../../domain/event-store.ts';
import { certStream } from '../../domain/ids.ts';
import { apiCatalog } from '../../projections/api-catalog.ts';
import { keyCommands } from '../../src/compose/key-upkeep.ts';
import { deleteCertificate, shredCertificateKey } from '../../src/management/certificates/certificate-commands.ts';
import type { CommandContext } from '../../src/management/handle-command.ts';
import { personalKid } from '../../src/management/personal-data.ts';
import { type KeyKeeper, startKeyKeeper } from '../../src/management/reactors/key-keeper.ts';
import { dropOldMonths, startRetention } from '../../src/management/reactors/personal-data-retention.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import type { KeyRing } from '../../src/stores/secrets/keyring.ts';
import { masterKeyFile } from '../../src/stores/secrets/master-key.ts';
import { openKeyRing } from '../../src/stores/secrets/sqlite-keyring.ts';
import { eventually } from '../support/eventually.ts';
import {
  appendEvents,
  certIdOf,
  certificateDeleted,
  certificateImported,
  folded,
  keptLog,
  keyShredded,
  org,
} from '../support/given.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const context: CommandContext = {
  orgId: org,
  actor: { type: 'token', id: 'tester' },
  requestId: 'request',
  requestHash: '',
  isDryRun: false,
};
const now = (): Date => new Date('2026-11-21T00:00:00Z');

describe('the keeper of the key ring', () => {
  let folder: TemporaryFolder;
  let keyRing: KeyRing;
  let store: MemoryEventStore;
  let log: ReturnType<typeof keptLog>;
  beforeEach(async () => {
    folder = temporaryFolder('svc-keeper-');
    keyRing = await openKeyRing({ path: folder.file('keyring.db'), masters: masterKeyFile(folder.file('master.key')) });
    store = new MemoryEventStore();
    log = keptLog();
  });
  afterEach(async () => {
    await keyRing.close();
    folder[Symbol.dispose]();
  });

  const kept = () => ({
    has: (kid: string) => keyRing.has(kid),
    shred: (kid: string) => keyRing.shred(kid),
    kids: async () => (await keyRing.status()).kids.map(({ kid }) => kid),
  });
  const start = (over: EventStore = store, ring = kept()): KeyKeeper & AsyncDisposable => {
    const keeper = startKeyKeeper({ store: over, ring, commands: keyCommands(over, keyRing, now), log, retryMs: 5 });
    return { ...keeper, [Symbol.asyncDispose]: () => keeper.stop() };
  };

  const newKey = async (): Promise<string> => {
    const place = { stream: 'cert-any', type: 'CertificateImported', path: 'secret' };
    return (await keyRing.seal('made up', place)).kid;
  };
  const typesOf = async (name: string): Promise<readonly string[]> =>
    (await store.readStream(certStream(certIdOf(name)), { limit: 100 })).map(({ type }) => type);
  const shredded = async (name: string) =>
    expect((await typesOf(name)).filter((type) => type === 'CertificateKeyShredded')).to.have.lengthOf(1);

  it('shreds the key of a certificate that is deleted, then says so in the log', async () => {
    const kid = await newKey();
    await appendEvents(store, certificateImported('a', { hasKey: true, kid }));
    await using _keeper = start();
    const services = { store, models: folded(apiCatalog), projector: { waitFor: async () => true } };
    await keyCommands(store, keyRing, now).run(
      context,
      deleteCertificate(services, { orgId: org, certId: certIdOf('a'), ifMatch: undefined }, false),
    );
    await eventually(() => shredded('a'));
    expect(await keyRing.has(kid)).to.equal(false);
    expect(await typesOf('a')).to.deep.equal(['CertificateImported', 'CertificateDeleted', 'CertificateKeyShredded']);
    const [last] = await store.readStream(certStream(certIdOf('a')), { back: true, limit: 1 });
    expect(JSON.parse(Buffer.from(last!.data).toString())).to.include({ kid, reason: 'deleted' });
    expect(last!.meta).to.include({ actorType: 'system', actorId: 'key-keeper' }).and.not.have.property('ip');
  });

  for (const [step, prepare] of [
    ['before the key was shredded', async () => {}],
    ['before the event was written', (kid: string) => keyRing.shred(kid)],
  ] as readonly (readonly [string, (kid: string) => Promise<unknown>])[]) {
    it(`ends what was broken off ${step}`, async () => {
      const [kid, other] = [await newKey(), await newKey()];
      await appendEvents(
        store,
        certificateImported('a', { hasKey: true, kid }),
        certificateDeleted('a'),
        certificateImported('a', { hasKey: true, kid: other }),
      );
      await prepare(kid);
      await using _keeper = start();
      await eventually(() => shredded('a'));
      expect([await keyRing.has(kid), await keyRing.has(other)]).to.deep.equal([false, true]);
    });
  }

  it('does it once when several nodes do it', async () => {
    const kids = await Promise.all(Array.from({ length: 5 }, newKey));
    for (const [index, kid] of kids.entries()) {
      await appendEvents(
        store,
        certificateImported(`c${index}`, { hasKey: true, kid }),
        certificateDeleted(`c${index}`),
      );
    }
    await using _one = start();
    await using _other = start();
    for (const index of kids.keys()) await eventually(() => shredded(`c${index}`));
    await using late = start();
    await eventually(() => expect(late.health().output).to.equal('0 keys of certificates, all open'));
    for (const index of kids.keys()) await shredded(`c${index}`);
  });

  it('shreds again what a ring from a backup brought back', async () => {
    const kid = await newKey();
    await appendEvents(store, certificateImported('a', { hasKey: true, kid }), keyShredded('a', 'asked', kid));
    await using _keeper = start();
    await eventually(async () => expect(await keyRing.has(kid)).to.equal(false));
  });

  it('tries again when the ring fails', async () => {
    const kid = await newKey();
    await appendEvents(store, certificateImported('a', { hasKey: true, kid }), certificateDeleted('a'));
    let failures = 3;
    const shred = (asked: string): Promise<boolean> =>
      failures-- > 0 ? Promise.reject(new Error('the disk is away')) : keyRing.shred(asked);
    await using _keeper = start(store, { ...kept(), shred });
    await eventually(() => shredded('a'));
    expect(JSON.stringify(log.lines)).to.contain('the disk is away');
  });

  it('tries again when the log fails', async () => {
    const kid = await newKey();
    await appendEvents(store, certificateImported('a', { hasKey: true, kid }), certificateDeleted('a'));
    let failures = 2;
    const failing: EventStore = {
      ...forwardedStore(store),
      subscribe: (options) => {
        if (failures-- > 0) throw new Error('the log is away');
        return store.subscribe(options);
      },
    };
    await using _keeper = start(failing);
    await eventually(() => shredded('a'));
  });

  describe('at the start', () => {
    it('finds that every key of a certificate opens', async () => {
      await appendEvents(
        store,
        certificateImported('a', { hasKey: true, kid: await newKey() }),
        certificateImported('b'),
      );
      await using keeper = start();
      await eventually(() =>
        expect(keeper.health()).to.deep.equal({ status: 'pass', output: '1 keys of certificates, all open' }),
      );
    });

    it('names keys that are missing in log and health, until their certificates are gone', async () => {
      await appendEvents(
        store,
        certificateImported('a', { hasKey: true, kid: 'lost' }),
        certificateImported('b', { hasKey: true, kid: await newKey() }),
      );
      await using keeper = start();
      const named = `lost of cert-${certIdOf('a')} (key_missing)`;
      const output = `1 of 2 keys of certificates do not open: ${named}`;
      await eventually(() => expect(keeper.health()).to.deep.equal({ status: 'warn', output }));
      expect(log.lines.filter(({ level }) => level === 'error')).to.have.lengthOf(1);
      await appendEvents(store, certificateDeleted('a'));
      await eventually(() => expect(keeper.health()).to.include({ status: 'pass' }));
    });

    it('names keys that are there and do not unwrap', async () => {
      const kid = await newKey();
      await appendEvents(store, certificateImported('a', { hasKey: true, kid }));
      const has = () => Promise.reject(Object.assign(new Error('damaged'), { code: 'keyring_unusable' }));
      await using keeper = start(store, { ...kept(), has });
      await eventually(() =>
        expect(keeper.health().output).to.contain(`${kid} of cert-`).and.contain('keyring_unusable'),
      );
    });
  });

  it('takes no notice of a key that an operator shredded', async () => {
    const kid = await newKey();
    await appendEvents(store, certificateImported('a', { hasKey: true, kid }));
    await using keeper = start();
    await eventually(() => expect(keeper.health().output).to.equal('1 keys of certificates, all open'));
    await keyRing.shred(kid);
    const key = { orgId: org, certId: certIdOf('a'), kid, reason: 'asked' } as const;
    await keyCommands(store, keyRing, now).run(context, shredCertificateKey(store, key));
    await eventually(() => expect(keeper.health().output).to.equal('0 keys of certificates, all open'));
  });

  describe('of personal data', () => {
    const months = ['2026-11', '2026-10', '2026-09', '2025-12', '2024-01'];
    const kidOf = (month: string): string => personalKid(org, new Date(`${month}-15T00:00:00Z`));
    const personalKids = async (): Promise<readonly string[]> =>
      (await keyRing.status()).kids.map(({ kid }) => kid).filter((kid) => kid.startsWith('personal-'));

    it('drops the keys of the months that are over, and no other key', async () => {
      const kid = await newKey();
      for (const month of months) await keyRing.ensure(kidOf(month));
      const dropped = await dropOldMonths({ ring: kept(), months: 2, now, log });
      expect([...dropped].sort()).to.deep.equal([kidOf('2024-01'), kidOf('2025-12')]);
      expect(await personalKids()).to.deep.equal([kidOf('2026-09'), kidOf('2026-10'), kidOf('2026-11')]);
      expect(await keyRing.has(kid)).to.equal(true);
    });

    it('does so at the start', async () => {
      for (const month of months) await keyRing.ensure(kidOf(month));
      const retention = startRetention({ ring: kept(), months: 1, now, log });
      await eventually(async () => expect(await personalKids()).to.deep.equal([kidOf('2026-10'), kidOf('2026-11')]));
      await retention.stop();
    });
  });
});
