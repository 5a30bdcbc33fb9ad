/** Tests the key ring: sealing bound to a place, shredding, and the life of the master key. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import type { KeyRing } from '../../../../../src/stores/secrets/keyring.ts';
import { masterKeyFile as keysIn } from '../../../../../src/stores/secrets/master-key.ts';
import type { SealedSecret, SecretPlace } from '../../../../../src/stores/secrets/seal.ts';
import { openKeyRing } from '../../../../../src/stores/secrets/sqlite-keyring.ts';
import { openDatabase } from '../../../../../src/stores/sqlite.ts';

const place: SecretPlace = { stream: 'cert-1', type: 'CertificateImported', path: 'secret' };
/** Made up for these tests; long enough to be found in a file by its bytes. */
const clear = 'upstream password: correct horse battery staple';

describe('key ring', () => {
  let folder: string;
  let path: string;
  let masterKeyFile: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-keyring-'));
    path = join(folder, 'keyring.db');
    masterKeyFile = join(folder, 'secrets', 'master.key');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const open = (): Promise<KeyRing> => openKeyRing({ path, masters: keysIn(masterKeyFile) });

  const codeOf = async (act: () => unknown): Promise<unknown> => {
    try {
      await act();
    } catch (error) {
      return (error as { readonly code?: unknown }).code;
    }
    return undefined;
  };

  const textOf = async (act: () => unknown): Promise<string> => {
    try {
      await act();
    } catch (error) {
      return String(error);
    }
    return 'no error';
  };

  /** Every byte of every file of the ring. */
  const stored = (): Buffer =>
    Buffer.concat(
      readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => readFileSync(join(folder, name))),
    );

  describe('a sealed secret', () => {
    it('opens at its place, whatever the text, after a restart too', async () => {
      await using ring = await open();
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 200 }), async (text) => {
          expect(await ring.open(await ring.seal(text, place), place)).to.equal(text);
        }),
        { numRuns: 20 },
      );
      const sealed = await ring.seal(clear, place);
      await ring.close();
      await using again = await open();
      expect(await again.has(sealed.kid)).to.equal(true);
      expect(await again.open(sealed, place)).to.equal(clear);
    });

    it('has the form of the log: A256GCM, 96-bit IV, 128-bit tag, base64url', async () => {
      await using ring = await open();
      const sealed = await ring.seal(clear, place);
      expect(Object.keys(sealed)).to.have.members(['kid', 'alg', 'iv', 'ct', 'tag']);
      expect(sealed.alg).to.equal('A256GCM');
      for (const [text, size] of [
        [sealed.iv, 12],
        [sealed.tag, 16],
        [sealed.ct, clear.length],
      ] as const) {
        expect(text).to.match(/^[\w-]+$/);
        expect(Buffer.from(text, 'base64url')).to.have.lengthOf(size);
      }
    });

    it('keeps its key when it is sealed again under it, with another IV; otherwise the key is new', async () => {
      await using ring = await open();
      const first = await ring.seal(clear, place);
      const again = await ring.seal(clear, { ...place, stream: 'cert-2' }, first.kid);
      expect(again.kid).to.equal(first.kid);
      expect(again.iv).to.not.equal(first.iv);
      expect((await ring.seal(clear, place)).kid).to.not.equal(first.kid);
      expect(await ring.open(again, { ...place, stream: 'cert-2' })).to.equal(clear);
    });

    for (const [name, moved] of [
      ['another stream', { ...place, stream: 'cert-2' }],
      ['another event type', { ...place, type: 'CertificateKeyAttached' }],
      ['another field', { ...place, path: 'other' }],
      ['a place whose parts were shifted', { stream: 'cert-1', type: 'CertificateImported|secret', path: '' }],
    ] as const) {
      it(`does not open in ${name}`, async () => {
        await using ring = await open();
        const sealed = await ring.seal(clear, place);
        expect(await codeOf(() => ring.open(sealed, moved))).to.equal('secret_unreadable');
      });
    }

    const flipped = (text: string): string => {
      const bytes = Buffer.from(text, 'base64url');
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      return bytes.toString('base64url');
    };
    for (const [name, change] of [
      ['iv', (sealed) => ({ ...sealed, iv: flipped(sealed.iv) })],
      ['ciphertext', (sealed) => ({ ...sealed, ct: flipped(sealed.ct) })],
      ['tag', (sealed) => ({ ...sealed, tag: flipped(sealed.tag) })],
      ['tag that was shortened', (sealed) => ({ ...sealed, tag: sealed.tag.slice(0, 6) })],
      ['iv that was emptied', (sealed) => ({ ...sealed, iv: '' })],
    ] as readonly [string, (sealed: SealedSecret) => SealedSecret][]) {
      it(`does not open with a changed ${name}, and the error does not tell it`, async () => {
        await using ring = await open();
        const sealed = change(await ring.seal(clear, place));
        expect(await textOf(() => ring.open(sealed, place)))
          .to.match(/changed or moved/)
          .and.not.to.match(/horse/);
      });
    }

    it('does not open under the key of another secret', async () => {
      await using ring = await open();
      const [one, other] = [await ring.seal(clear, place), await ring.seal('other', place)];
      expect(await codeOf(() => ring.open({ ...one, kid: other.kid }, place))).to.equal('secret_unreadable');
    });
  });

  describe('shredding', () => {
    it('ends one secret in every event that holds it, and no other', async () => {
      await using ring = await open();
      const [gone, kept] = [await ring.seal(clear, place), await ring.seal('kept', place)];
      const repeated = await ring.seal(clear, { ...place, stream: 'cert-2' }, gone.kid);
      expect(await ring.shred(gone.kid)).to.equal(true);
      expect(await ring.shred(gone.kid)).to.equal(false);
      expect(await ring.has(gone.kid)).to.equal(false);
      expect(await codeOf(() => ring.open(gone, place))).to.equal('key_missing');
      expect(await codeOf(() => ring.open(repeated, { ...place, stream: 'cert-2' }))).to.equal('key_missing');
      expect(await codeOf(() => ring.seal(clear, place, gone.kid))).to.equal('key_missing');
      expect(await ring.open(kept, place)).to.equal('kept');
    });

    it('leaves no byte of the wrapped key in any file', async () => {
      await using ring = await open();
      const { kid } = await ring.seal(clear, place);
      const wrapped = ((): Buffer => {
        using database = openDatabase(path, { journal: 'truncate' });
        return Buffer.from(
          database.prepare('SELECT wrapped FROM keys WHERE kid = ?').get(kid)!['wrapped'] as Uint8Array,
        );
      })();
      expect(stored().includes(wrapped)).to.equal(true);
      await ring.shred(kid);
      expect(stored().includes(wrapped)).to.equal(false);
    });
  });

  describe('the ring', () => {
    it('holds neither the secret nor the data key nor the master key in clear', async () => {
      await using ring = await open();
      await ring.seal(clear, place);
      const master = readFileSync(masterKeyFile, 'utf8').trim();
      for (const secret of [Buffer.from('correct horse'), Buffer.from(master), Buffer.from(master, 'base64url')]) {
        expect(stored().includes(secret)).to.equal(false);
      }
    });

    it('refuses a wrapped key that was moved to another kid', async () => {
      await using ring = await open();
      const [one, other] = [await ring.seal(clear, place), await ring.seal('other', place)];
      await ring.shred(other.kid);
      using database = openDatabase(path, { journal: 'truncate' });
      database.prepare('UPDATE keys SET kid = ? WHERE kid = ?').run(other.kid, one.kid);
      expect(await codeOf(() => ring.open({ ...one, kid: other.kid }, place))).to.equal('keyring_unusable');
    });

    it('that is damaged, or newer than the program, is an error', async () => {
      await (await open()).close();
      ((): void => {
        using database = openDatabase(path, { journal: 'truncate' });
        database.exec('UPDATE ring SET format = 99');
      })();
      expect(await codeOf(open)).to.equal('keyring_unusable');
      writeFileSync(path, 'no database at all, but of some length'.repeat(100));
      expect(await codeOf(open)).to.equal('keyring_unusable');
    });
  });

  describe('the master key', () => {
    it('is made at the first start, for its owner only, and stays the same', async () => {
      await (await open()).close();
      const first = readFileSync(masterKeyFile, 'utf8');
      expect(first).to.match(/^[\w-]{43}\n$/);
      expect(statSync(masterKeyFile).mode & 0o777).to.equal(0o600);
      expect(statSync(path).mode & 0o777).to.equal(0o600);
      expect(readdirSync(join(folder, 'secrets'))).to.deep.equal(['master.key']);
      await (await open()).close();
      expect(readFileSync(masterKeyFile, 'utf8')).to.equal(first);
    });

    it('that stands there before the ring is used', async () => {
      await (await open()).close();
      rmSync(path);
      const before = readFileSync(masterKeyFile, 'utf8');
      await (await open()).close();
      expect(readFileSync(masterKeyFile, 'utf8')).to.equal(before);
    });

    it('that is missing beside an existing ring is an error that says what to do, and none is made', async () => {
      await (await open()).close();
      rmSync(masterKeyFile);
      expect(await textOf(open)).to.match(/restore .* from the backup/);
      expect(await codeOf(open)).to.equal('master_key_missing');
      expect(readdirSync(join(folder, 'secrets'))).to.deep.equal([]);
    });

    it('of another ring is refused', async () => {
      await (await open()).close();
      rmSync(masterKeyFile);
      await (await openKeyRing({ path: join(folder, 'other.db'), masters: keysIn(masterKeyFile) })).close();
      expect(await codeOf(open)).to.equal('master_key_wrong');
    });

    for (const [name, text] of [
      ['is empty', ''],
      ['is too short', 'abcd'],
      ['is no base64url', '!'.repeat(43)],
    ] as const) {
      it(`that ${name} is refused`, async () => {
        await (await open()).close();
        writeFileSync(masterKeyFile, text);
        expect(await codeOf(open)).to.equal('master_key_invalid');
      });
    }

    it('that every user may read is refused', async function () {
      if (process.platform === 'win32') this.skip();
      await (await open()).close();
      chmodSync(masterKeyFile, 0o644);
      expect(await textOf(open)).to.match(/chmod 600/);
    });
  });
});
