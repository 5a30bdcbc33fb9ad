/** The key ring in its file, byte for byte, and the life of the master key. What every ring does: test/contract/key-ring.ts. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { KeyRing } from '../../../../../src/stores/secrets/keyring.ts';
import {
  givenMasterKeys,
  masterKeyFile as keysIn,
  newMasterKeyText,
} from '../../../../../src/stores/secrets/master-key.ts';
import type { SecretPlace } from '../../../../../src/stores/secrets/seal.ts';
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

  describe('shredding', () => {
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

    it('whose keys are damaged says so when one is asked for', async () => {
      const sealed = await (async () => {
        await using ring = await open();
        return await ring.seal(clear, place);
      })();
      const bytes = readFileSync(path);
      const pageBytes = 4_096;
      writeFileSync(path, bytes.fill(0xff, 2 * pageBytes));
      await using ring = await open();
      expect(await codeOf(() => ring.open(sealed, place))).to.equal('keyring_unusable');
      expect(await textOf(() => ring.status()))
        .to.contain(path)
        .and.to.contain('corrupt');
    });

    it('of format 1, which kept the parts of a wrapped key apart, opens and is brought to today', async () => {
      const sealed = await (async () => {
        await using ring = await open();
        return await ring.seal(clear, place);
      })();
      ((): void => {
        using database = openDatabase(path, { journal: 'truncate' });
        const ring = database.prepare('SELECT master_id FROM ring').get()!;
        const key = database.prepare('SELECT * FROM keys').get()!;
        const wrapped = key['wrapped'] as Uint8Array;
        database.exec(`DROP TABLE ring; DROP TABLE keys;
          CREATE TABLE ring (one INTEGER PRIMARY KEY, format INTEGER NOT NULL, master_id TEXT NOT NULL) STRICT;
          CREATE TABLE keys (kid TEXT PRIMARY KEY, master_id TEXT NOT NULL, iv BLOB NOT NULL, wrapped BLOB NOT NULL,
            tag BLOB NOT NULL, created_ms INTEGER NOT NULL) STRICT`);
        database.prepare('INSERT INTO ring VALUES (1, 1, ?)').run(ring['master_id'] ?? null);
        const parts = [wrapped.subarray(0, 12), wrapped.subarray(12, -16), wrapped.subarray(-16)] as const;
        database
          .prepare('INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)')
          .run(sealed.kid, String(key['master_id']), ...parts, Number(key['created_ms']));
      })();
      for (let start = 0; start < 2; start++) {
        await using ring = await open();
        expect(await ring.open(sealed, place)).to.equal(clear);
      }
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

    it('stands behind remarks and newer ones', async () => {
      await (await open()).close();
      const first = readFileSync(masterKeyFile, 'utf8');
      writeFileSync(masterKeyFile, `# made by hand\n\n  ${newMasterKeyText()}\n${first}`);
      await using ring = await open();
      expect((await ring.status()).masters).to.have.lengthOf(2);
    });

    it('from the environment is refused by its place when it is none', async () => {
      const text = await textOf(() => givenMasterKeys([newMasterKeyText(), 'short']));
      expect(text).to.contain('store.secrets.master_keys[1]').and.not.to.contain('short');
    });

    it('that is renewed stays behind the new one', async () => {
      await (await open()).close();
      const before = readFileSync(masterKeyFile, 'utf8');
      expect(await keysIn(masterKeyFile).renew()).to.match(/^[0-9a-f]{32}$/);
      const lines = readFileSync(masterKeyFile, 'utf8').trim().split('\n');
      expect(lines).to.have.lengthOf(2);
      expect(lines[1]).to.equal(before.trim());
      expect(statSync(masterKeyFile).mode & 0o777).to.equal(0o600);
    });

    it('that every user may read is refused', async function () {
      if (process.platform === 'win32') this.skip();
      await (await open()).close();
      chmodSync(masterKeyFile, 0o644);
      expect(await textOf(open)).to.match(/chmod 600/);
    });
  });
});
