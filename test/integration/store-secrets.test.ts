/** `svc store secrets` on a data folder: what it shows, a rotation that is killed and goes on, shredding. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import type { EventStore, Expected } from '../../domain/event-store.ts';
import { type DomainEvent, encodeEvent } from '../../domain/events.ts';
import { certStream } from '../../domain/ids.ts';
import { personalKid } from '../../src/management/personal-data.ts';
import { openLog } from '../../src/stores/open.ts';
import type { KeyRing } from '../../src/stores/secrets/keyring.ts';
import { masterKeyFile } from '../../src/stores/secrets/master-key.ts';
import type { SealedSecret } from '../../src/stores/secrets/seal.ts';
import { openSigningKey } from '../../src/stores/secrets/signing-key.ts';
import { openKeyRing } from '../../src/stores/secrets/sqlite-keyring.ts';
import { svc } from '../support/cli.ts';
import { certIdOf, certificateDeleted, certificateImported, org, streamOf } from '../support/given.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const place = { stream: 'cert-any', type: 'CertificateImported', path: 'secret' };
const child = join(import.meta.dirname, '../support/rotation-process.ts');

async function append(store: EventStore, expected: Expected, event: DomainEvent): Promise<void> {
  const events = [encodeEvent(event, randomUUID(), {})];
  await store.append([{ stream: streamOf(event), expected, events }], { commandId: randomUUID(), timeoutMs: 5_000 });
}

describe('svc store secrets', () => {
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = temporaryFolder('svc-store-secrets-');
  });
  afterEach(() => folder[Symbol.dispose]());

  const secrets = (...args: readonly string[]) => svc(['store', 'secrets', ...args, '--data', folder.path]);
  const openRing = (): Promise<KeyRing> =>
    openKeyRing({ path: folder.file('keyring.db'), masters: masterKeyFile(folder.file('master.key')) });
  const withLog = async <T>(work: (store: EventStore) => Promise<T>): Promise<T> => {
    const log = await openLog(`sqlite:${folder.file('events.db')}`);
    try {
      return await work(log.store);
    } finally {
      await log.close();
    }
  };
  const typesOf = (name: string): Promise<readonly string[]> =>
    withLog(async (store) =>
      (await store.readStream(certStream(certIdOf(name)), { limit: 100 })).map(({ type }) => type),
    );
  const report = async (): Promise<JsonObject> => JSON.parse((await secrets('status', '--json')).out) as JsonObject;

  /** A ring with a key of each use. */
  const given = async (): Promise<Readonly<Record<'live' | 'deleted' | 'unused' | 'signing', string>>> => {
    await using ring = await openRing();
    const kid = async (): Promise<string> => (await ring.seal('made up', place)).kid;
    const [live, deleted, unused] = [await kid(), await kid(), await kid()];
    await ring.ensure(personalKid(org, new Date('2026-11-01T00:00:00Z')));
    const log = await openLog(`sqlite:${folder.file('events.db')}`);
    await openSigningKey({ cells: log.cells, keyRing: ring });
    await append(log.store, 'noStream', certificateImported('a', { hasKey: true, kid: live }));
    await append(log.store, 'noStream', certificateImported('b', { hasKey: true, kid: deleted }));
    await append(log.store, 0n, certificateDeleted('b'));
    await log.close();
    const all = (await ring.status()).kids.map((entry) => entry.kid);
    const [signing = ''] = all.filter((one) => ![live, deleted, unused].includes(one) && !one.startsWith('personal-'));
    return { live, deleted, unused, signing };
  };

  it('says that there is no ring, and makes none', async () => {
    for (const args of [['status'], ['rotate'], ['shred', 'any', '--yes']]) {
      const { code, err } = await secrets(...args);
      expect(code).to.equal(1);
      expect(err).to.contain('has no key ring');
    }
  });

  describe('status', () => {
    it('shows every key with its master key and what it is for', async () => {
      const { live, deleted, unused, signing } = await given();
      const { current, keys, missing } = await report();
      const uses = new Map((keys as readonly JsonObject[]).map(({ kid, use, of = '' }) => [kid, [use, of]]));
      expect(Object.fromEntries(uses)).to.deep.equal({
        [live]: ['certificate', certIdOf('a')],
        [deleted]: ['deleted certificate', certIdOf('b')],
        [unused]: ['nothing', ''],
        [signing]: ['signing key', ''],
        'personal-2026-11-acme': ['personal data', '2026-11'],
      });
      expect((keys as readonly JsonObject[]).map(({ masterKey }) => masterKey)).to.deep.equal(Array(5).fill(current));
      expect(missing).to.deep.equal([]);
      const { code, out, err } = await secrets('status');
      expect(code).to.equal(0);
      expect(out.trim().split('\n')).to.have.lengthOf(5);
      expect(err).to.equal(`master key ${current}: 5 keys, wraps\n`);
    });

    it('fails when a certificate needs a key that does not open, and names both', async () => {
      const { live } = await given();
      await (async () => {
        await using ring = await openRing();
        await ring.shred(live);
      })();
      const { code, err } = await secrets('status');
      expect(code).to.equal(1);
      expect(err).to.contain(`${live} of cert-${certIdOf('a')}`);
      const stream = `cert-${certIdOf('a')}`;
      expect((await report())['missing']).to.deep.equal([{ kid: live, stream, certId: certIdOf('a') }]);
    });
  });

  describe('rotate', () => {
    const count = 160;
    const filled = async (): Promise<readonly SealedSecret[]> => {
      await using ring = await openRing();
      const sealed: SealedSecret[] = [];
      for (let index = 0; index < count; index++) sealed.push(await ring.seal(`secret ${index}`, place));
      return sealed;
    };
    const allOpen = async (sealed: readonly SealedSecret[]): Promise<void> => {
      await using ring = await openRing();
      for (const [index, secret] of sealed.entries())
        expect(await ring.open(secret, place)).to.equal(`secret ${index}`);
    };
    const perMaster = async (): Promise<readonly number[]> => {
      await using ring = await openRing();
      return (await ring.status()).masters.map(({ keys }) => keys);
    };

    it('wraps every key anew, and the log stays as it is byte for byte', async () => {
      await given();
      const eventsOf = () =>
        withLog(async (store) => {
          const { events } = await store.readAll({ after: '', limit: 1_000 });
          return events.map(({ data, meta }) => [Buffer.from(data).toString(), meta]);
        });
      const before = await eventsOf();
      const { code, out } = await secrets('rotate');
      expect(code).to.equal(0);
      expect(out).to.match(/^5 keys are wrapped with master key [0-9a-f]{32} now\n$/);
      expect(await eventsOf()).to.deep.equal(before);
      expect(await perMaster()).to.deep.equal([5, 0]);
    });

    for (const at of [0, 50, 150]) {
      it(`goes on where a SIGKILL after ${at} keys left it`, async () => {
        const sealed = await filled();
        const args = [child, folder.file('keyring.db'), folder.file('master.key'), String(at)];
        const killed = spawn(process.execPath, args, { stdio: 'ignore' });
        expect((await once(killed, 'exit'))[1]).to.equal('SIGKILL');
        expect(await perMaster()).to.deep.equal([at, count - at]);
        await allOpen(sealed);
        const { code, out } = await secrets('rotate', '--json');
        expect(code).to.equal(0);
        expect(JSON.parse(out)).to.include({ rewrapped: count - at });
        expect(await perMaster()).to.deep.equal([count, 0]);
        await allOpen(sealed);
      });
    }

    it('takes the master key that --prepare made', async () => {
      const sealed = await filled();
      const { prepared } = JSON.parse((await secrets('rotate', '--prepare', '--json')).out) as JsonObject;
      expect(await perMaster()).to.deep.equal([0, count]);
      expect(JSON.parse((await secrets('rotate', '--prepare', '--json')).out)).to.deep.equal({ prepared });
      expect(JSON.parse((await secrets('rotate', '--json')).out)).to.include({ to: prepared, rewrapped: count });
      expect(readFileSync(folder.file('master.key'), 'utf8').trim().split('\n')).to.have.lengthOf(2);
      await allOpen(sealed);
    });
  });

  describe('shred', () => {
    it('asks for --yes', async () => {
      const { live } = await given();
      const { code, err } = await secrets('shred', live);
      expect(code).to.equal(2);
      expect(err).to.contain('--yes');
      expect((await report())['missing']).to.deep.equal([]);
    });

    it('removes the key of a certificate that lives on, and the log says so', async () => {
      const { live } = await given();
      const { code, out } = await secrets('shred', live, '--yes');
      expect(code).to.equal(0);
      expect(out).to.equal(`${live} is shredded (certificate ${certIdOf('a')})\n`);
      expect(await typesOf('a')).to.deep.equal(['CertificateImported', 'CertificateKeyShredded']);
      const { keys, missing } = await report();
      expect((keys as readonly JsonObject[]).map(({ kid }) => kid)).not.to.include(live);
      expect(missing).to.deep.equal([]);
      const again = await secrets('shred', live, '--yes');
      expect(again.code).to.equal(1);
      expect(again.err).to.contain('has no key');
      expect(await typesOf('a')).to.have.lengthOf(2);
    });

    it('ends what was broken off between key and event', async () => {
      const { live } = await given();
      await (async () => {
        await using ring = await openRing();
        await ring.shred(live);
      })();
      expect((await secrets('shred', live, '--yes')).code).to.equal(0);
      expect(await typesOf('a')).to.deep.equal(['CertificateImported', 'CertificateKeyShredded']);
      expect((await secrets('status')).code).to.equal(0);
    });

    it('does what was still to be done for a certificate that is gone', async () => {
      const { deleted } = await given();
      expect((await secrets('shred', deleted, '--yes', '--json')).out).to.contain('deleted certificate');
      expect(await typesOf('b')).to.deep.equal(['CertificateImported', 'CertificateDeleted', 'CertificateKeyShredded']);
    });

    it('removes personal data of a month and what nothing needs, without an event', async () => {
      const { unused } = await given();
      const head = await withLog((store) => store.head());
      expect((await secrets('shred', 'personal-2026-11-acme', '--yes')).code).to.equal(0);
      expect((await secrets('shred', unused, '--yes')).code).to.equal(0);
      expect(await withLog((store) => store.head())).to.equal(head);
      expect((await report())['keys']).to.have.lengthOf(3);
    });

    it('leaves the key with which the log is signed', async () => {
      const { signing } = await given();
      const { code, err } = await secrets('shred', signing, '--yes');
      expect(code).to.equal(1);
      expect(err).to.contain('signs anchors');
      expect((await report())['keys']).to.have.lengthOf(5);
    });

    it('says that a log in memory is out of reach', async () => {
      const { live } = await given();
      const { code, err } = await secrets('shred', live, '--yes', '--set', 'store.url=memory:');
      expect(code).to.equal(1);
      expect(err).to.contain('in the server alone');
    });
  });
});
