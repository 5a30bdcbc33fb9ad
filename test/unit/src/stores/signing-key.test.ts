/** The signing key: made once, the same for everybody who opens it, and in clear nowhere. */
import { verify } from 'node:crypto';
import { expect } from 'chai';
import { memoryCells } from '../../../../src/stores/events/memory-cells.ts';
import { keyIdOf } from '../../../../src/stores/integrity/anchor.ts';
import { masterKeyFile } from '../../../../src/stores/secrets/master-key.ts';
import { forgetSigningKey, openSigningKey } from '../../../../src/stores/secrets/signing-key.ts';
import { openKeyRing } from '../../../../src/stores/secrets/sqlite-keyring.ts';
import { failureOf } from '../../../support/event-store-failure.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

describe('signing key', () => {
  it('20 nodes that make it at once have one key, which stands in the cell sealed', async () => {
    using folder = temporaryFolder('svc-signing-');
    const keyRing = await openKeyRing({
      path: folder.file('keyring.db'),
      masters: masterKeyFile(folder.file('master.key')),
    });
    const cells = memoryCells();
    const keys = await Promise.all(Array.from({ length: 20 }, () => openSigningKey({ cells, keyRing })));
    const again = await openSigningKey({ cells, keyRing });
    expect(new Set([...keys, again].map(({ keyId }) => keyId)).size).to.equal(1);
    const bytes = Buffer.from('statement');
    const signature = Buffer.from(keys[7]?.sign(bytes) ?? '', 'base64url');
    expect(verify(null, bytes, again.publicKey, signature)).to.equal(true);
    expect(keyIdOf(again.publicKey)).to.equal(again.keyId);
    expect((await cells.read('signing-key'))?.value).to.not.contain('PRIVATE');
    await keyRing.close();
  });

  it('a ring that is not the one of the log is named, with the way out', async () => {
    using folder = temporaryFolder('svc-signing-');
    const ring = (name: string) =>
      openKeyRing({ path: folder.file(name), masters: masterKeyFile(folder.file('master.key')) });
    const [right, wrong] = [await ring('right.db'), await ring('wrong.db')];
    const cells = memoryCells();
    const { keyId } = await openSigningKey({ cells, keyRing: right });
    const { message } = await failureOf(openSigningKey({ cells, keyRing: wrong }));
    expect(message).to.contain('not the ring of this log').and.contain('svc store signing-key renew');
    expect(await forgetSigningKey(cells)).to.equal(true);
    expect(await forgetSigningKey(cells)).to.equal(false);
    expect((await openSigningKey({ cells, keyRing: wrong })).keyId).to.not.equal(keyId);
    await Promise.all([right.close(), wrong.close()]);
  });
});
