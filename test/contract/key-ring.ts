/** What every key ring keeps to: sealing bound to a place, shredding, and rotation that an end at any moment does no harm. */
import { rmSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import type { KeyRing, MasterKeys, RotationProgress } from '../../src/stores/secrets/keyring.ts';
import { givenMasterKeys, masterKeyFile, newMasterKeyText } from '../../src/stores/secrets/master-key.ts';
import type { SealedSecret, SecretPlace } from '../../src/stores/secrets/seal.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

/** Where one ring lies. */
export type RingHome = {
  /** The same ring each time, as another process would open it. */
  open(masters: MasterKeys): Promise<KeyRing>;
  remove(): Promise<void>;
};

const place: SecretPlace = { stream: 'cert-1', type: 'CertificateImported', path: 'secret' };
/** Made up for these tests. */
const clear = 'upstream password: correct horse battery staple';

async function codeOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    return (error as { readonly code?: unknown }).code;
  }
  return undefined;
}

async function textOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return String(error);
  }
  return 'no error';
}

export function keyRingContract(name: string, make: () => Promise<RingHome>): void {
  describe(`the key ring ${name}`, () => {
    let folder: TemporaryFolder;
    let home: RingHome;
    let file: string;
    beforeEach(async () => {
      folder = temporaryFolder('svc-ring-contract-');
      file = folder.file('master.key');
      home = await make();
    });
    afterEach(async () => {
      await home.remove();
      folder[Symbol.dispose]();
    });
    const open = (): Promise<KeyRing> => home.open(masterKeyFile(file));

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

      it('opens with what its key gives for many, at its place only, and not once the key is asked for after a shred', async () => {
        await using ring = await open();
        const [one, other] = [await ring.seal(clear, place), await ring.seal('other', { ...place, stream: 'cert-2' })];
        const unseal = await ring.opener(one.kid);
        expect([unseal?.(one, place), unseal?.(one, place)]).to.deep.equal([clear, clear]);
        expect(() => unseal?.(one, { ...place, type: 'Other' })).to.throw();
        expect(() => unseal?.(other, { ...place, stream: 'cert-2' })).to.throw();
        expect(await ring.opener('nothing')).to.equal(undefined);
        await ring.shred(one.kid);
        expect(await ring.opener(one.kid)).to.equal(undefined);
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
    });

    describe('a key with a name of our choice', () => {
      it('is made once, also when several ask for it at once', async () => {
        await using ring = await open();
        await using other = await open();
        await Promise.all([ring, other, ring, other].map((one) => one.ensure('personal-2026-11-acme')));
        const sealed = await ring.seal(clear, place, 'personal-2026-11-acme');
        await other.ensure('personal-2026-11-acme');
        expect(await other.open(sealed, place)).to.equal(clear);
      });

      it('is another one after it was shredded', async () => {
        await using ring = await open();
        await ring.ensure('named');
        const sealed = await ring.seal(clear, place, 'named');
        await ring.shred('named');
        await ring.ensure('named');
        expect(await codeOf(() => ring.open(sealed, place))).to.equal('secret_unreadable');
      });
    });

    describe('rotation', () => {
      /** More than one group that is written at once. */
      const count = 130;
      const fill = async (ring: KeyRing, keys = count): Promise<readonly SealedSecret[]> => {
        const sealed: SealedSecret[] = [];
        for (let index = 0; index < keys; index++) sealed.push(await ring.seal(`secret ${index}`, place));
        return sealed;
      };
      const allOpen = async (ring: KeyRing, sealed: readonly SealedSecret[]): Promise<void> => {
        for (const [index, secret] of sealed.entries())
          expect(await ring.open(secret, place)).to.equal(`secret ${index}`);
      };
      const keysPerMaster = async (ring: KeyRing) => (await ring.status()).masters.map(({ keys }) => keys);
      /** What a process does that dies while it rotates. */
      const breakOff = async (ring: KeyRing, at: number): Promise<void> => {
        const dies = ({ done }: RotationProgress): void => {
          if (done >= at) throw new Error('died');
        };
        expect(await textOf(() => ring.rotate(dies))).to.contain('died');
      };

      it('wraps every key with a new master key; what was sealed opens as before', async () => {
        await using ring = await open();
        // More than one page of names.
        const all = 510;
        const sealed = await fill(ring, all);
        const told: RotationProgress[] = [];
        const { from, to, rewrapped } = await ring.rotate((progress) => told.push(progress));
        expect(rewrapped).to.equal(all);
        expect(from).not.to.equal(to);
        expect(told[0]).to.deep.equal({ done: 0, total: all });
        expect(told.at(-1)).to.deep.equal({ done: all, total: all });
        expect(await keysPerMaster(ring)).to.deep.equal([all, 0]);
        expect((await ring.status()).current).to.equal(to);
        await allOpen(ring, sealed);
        await using again = await open();
        await allOpen(again, sealed);
      });

      it('makes the old master key superfluous', async () => {
        const [older, newer] = [newMasterKeyText(), newMasterKeyText()];
        writeFileSync(file, `${older}\n`, { mode: 0o600 });
        const sealed = await (async () => {
          await using ring = await open();
          const made = await fill(ring);
          writeFileSync(file, `# the newest comes first\n${newer}\n\n${older}\n`);
          await ring.rotate();
          return made;
        })();
        writeFileSync(file, `${newer}\n`);
        await using ring = await open();
        await allOpen(ring, sealed);
        rmSync(file);
        writeFileSync(file, `${older}\n`, { mode: 0o600 });
        expect(await codeOf(open)).to.equal('master_key_wrong');
      });

      for (const at of [0, 50, count]) {
        it(`that was broken off after ${at} keys goes on where it was, with the same master key`, async () => {
          await using ring = await open();
          const sealed = await fill(ring);
          await breakOff(ring, at);
          await using later = await open();
          const more = await later.seal('sealed between', place);
          await allOpen(later, sealed);
          const [newest] = (await later.status()).masters;
          const { to, rewrapped } = await later.rotate();
          if (at < count) {
            expect(to).to.equal(newest?.id);
            expect(rewrapped).to.equal(count - at);
          }
          const { masters } = await later.status();
          expect(masters.filter(({ keys }) => keys > 0)).to.deep.equal([{ id: to, isAtHand: true, keys: count + 1 }]);
          await allOpen(later, sealed);
          expect(await later.open(more, place)).to.equal('sealed between');
        });
      }

      it('takes the master key that was put in front of the others instead of making one', async () => {
        const [older, newer] = [newMasterKeyText(), newMasterKeyText()];
        const sealed = await (async () => {
          await using ring = await home.open(givenMasterKeys([older]));
          const made = await ring.seal(clear, place);
          expect(await codeOf(() => ring.rotate())).to.equal('master_key_outside');
          expect(await ring.open(made, place)).to.equal(clear);
          return made;
        })();
        await using ring = await home.open(givenMasterKeys([newer, older]));
        expect((await ring.rotate()).rewrapped).to.equal(1);
        await using without = await home.open(givenMasterKeys([newer]));
        expect(await without.open(sealed, place)).to.equal(clear);
      });

      it('does not bring a key back that is shredded while it runs, and takes in one that is made', async () => {
        await using ring = await open();
        await using other = await open();
        const sealed = await fill(ring);
        const gone = sealed[100]!.kid;
        let pending: Promise<unknown> | undefined;
        await ring.rotate(({ done }) => {
          if (done === 50) pending = Promise.all([other.shred(gone), other.seal('made meanwhile', place)]);
        });
        await pending;
        expect(await ring.has(gone)).to.equal(false);
        const { masters } = await ring.status();
        expect(masters.map(({ keys }) => keys)).to.deep.equal([count, 0]);
      });

      it('by two at once ends with every key under one master key', async () => {
        await using ring = await open();
        await using other = await open();
        const sealed = await fill(ring);
        await Promise.all([ring.rotate(), other.rotate()]);
        await ring.rotate();
        const { masters } = await other.status();
        expect(masters.filter(({ keys }) => keys > 0)).to.have.lengthOf(1);
        await allOpen(other, sealed);
      });
    });

    describe('master keys that are kept elsewhere', () => {
      /** A service that wraps and never gives its key away. */
      const service = (calls: string[]): MasterKeys => {
        const inner = givenMasterKeys([remoteKey]);
        return {
          ...inner,
          wrap: (...asked) => {
            calls.push('wrap');
            return inner.wrap(...asked);
          },
          unwrap: (...asked) => {
            calls.push('unwrap');
            return inner.unwrap(...asked);
          },
        };
      };
      const remoteKey = newMasterKeyText();

      it('are asked to wrap and unwrap, and for nothing else', async () => {
        const calls: string[] = [];
        await using ring = await home.open(service(calls));
        const sealed = await ring.seal(clear, place);
        expect(await ring.open(sealed, place)).to.equal(clear);
        expect(calls).to.deep.equal(['wrap', 'unwrap']);
      });

      it('that fail are no damage of the ring', async () => {
        await using ring = await home.open(service([]));
        const sealed = await ring.seal(clear, place);
        const away = () => Promise.reject(new Error('the service is away'));
        await using other = await home.open({ ...service([]), unwrap: away });
        expect(await codeOf(() => other.open(sealed, place))).to.equal('master_keys_unavailable');
        expect(await ring.open(sealed, place)).to.equal(clear);
      });
    });

    it('is not opened without a master key that it is wrapped with', async () => {
      await (await home.open(givenMasterKeys([newMasterKeyText()]))).close();
      expect(await codeOf(() => home.open(givenMasterKeys([newMasterKeyText()])))).to.equal('master_key_wrong');
      expect(await codeOf(() => home.open(masterKeyFile(file)))).to.equal('master_key_missing');
    });
  });
}
