/** The key of a gateway: made once, kept for its owner alone, and refused rather than replaced when it cannot be used. */
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { readNodeKey, sealBox } from '../../../gateway/feed/node-box.ts';
import { openNodeKey } from '../../../gateway/feed/node-key.ts';
import { listLog } from '../../support/gateway-start.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary.ts';

const place = { logId: 'log-1', era: 1, node: 'edge-1', kind: 'api', id: 'orders', position: '12' };
const secrets = [{ pointer: '/upstream/url', clear: 'gate:pass' }];

describe('the key of a gateway', () => {
  let folder: TemporaryFolder;
  let file: string;
  beforeEach(() => {
    folder = temporaryFolder('svc-node-key-');
    file = folder.file('gateway', 'node-key.pem');
  });
  afterEach(() => folder[Symbol.dispose]());

  it('is made at the first start, and is the same at the next one', () => {
    const log = listLog();
    const first = openNodeKey(file, 'edge-1', log);
    const again = openNodeKey(file, 'edge-1', log);
    expect(again.publicKey).to.equal(first.publicKey);
    const box = sealBox(readNodeKey(first.publicKey), place, secrets);
    expect(again.open(place, box)).to.deep.equal(secrets);
    expect(log.lines.map(({ fields }) => fields['keyId'])).to.deep.equal([first.keyId]);
    expect(readdirSync(folder.file('gateway'))).to.deep.equal(['node-key.pem']);
  });

  it('is another one where it was lost', () => {
    const before = openNodeKey(file, 'edge-1', listLog());
    rmSync(file);
    const after = openNodeKey(file, 'edge-1', listLog());
    expect(after.keyId).not.to.equal(before.keyId);
    const box = sealBox(readNodeKey(before.publicKey), place, secrets);
    expect(() => after.open(place, box)).to.throw();
  });

  it('is in no line of the log', () => {
    const log = listLog();
    openNodeKey(file, 'edge-1', log);
    const body = readFileSync(file, 'utf8').split('\n')[1] ?? 'none';
    expect(body).to.have.length.above(40);
    expect(JSON.stringify(log.lines)).not.to.contain(body);
  });

  if (process.platform !== 'win32') {
    it('is for its owner alone', () => {
      openNodeKey(file, 'edge-1', listLog());
      expect(statSync(file).mode & 0o777).to.equal(0o600);
      expect(statSync(folder.file('gateway')).mode & 0o777).to.equal(0o700);
      chmodSync(file, 0o604);
      expect(() => openNodeKey(file, 'edge-1', listLog())).to.throw('chmod 600');
      chmodSync(file, 0o640);
      openNodeKey(file, 'edge-1', listLog());
    });
  }

  const broken: readonly (readonly [string, () => string, string])[] = [
    ['is cut', () => readFileSync(file, 'utf8').slice(0, 60), 'cannot be read'],
    ['is empty', () => '', 'cannot be read'],
    ['is of another kind', ed25519Pem, 'no X25519 key'],
  ];
  for (const [what, text, message] of broken) {
    it(`stops the start when it ${what}, and stays as it is`, () => {
      openNodeKey(file, 'edge-1', listLog());
      writeFileSync(file, text());
      const before = readFileSync(file);
      expect(() => openNodeKey(file, 'edge-1', listLog())).to.throw(message);
      expect(readFileSync(file)).to.deep.equal(before);
    });
  }
});

function ed25519Pem(): string {
  return String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
}
