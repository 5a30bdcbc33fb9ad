/** Uploads of certificates: what belongs together, and every refusal with its text. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { zeroTime } from '../../../../domain/certificate.ts';
import { Refusal } from '../../../../domain/errors.ts';
import { readUpload } from '../../../../src/management/upload/certificate-upload.ts';
import {
  chainOf,
  expired,
  type MadeCertificate,
  needsOpenssl,
  rsaKey,
  selfSigned,
  signedBy,
} from '../../../support/test-ca.ts';

const read = (text: string, passphrase?: string) =>
  readUpload(Buffer.from(text, 'latin1'), { now: Date.now(), passphrase });

const refused = async (text: string, passphrase?: string): Promise<string> => {
  try {
    await read(text, passphrase);
  } catch (error) {
    assert(error instanceof Refusal, String(error));
    expect(error.code).to.equal('certificate_invalid');
    return error.message;
  }
  return assert.fail('was not refused');
};

const commonNames = async (text: string): Promise<readonly string[]> =>
  (await read(text)).items.map(({ facts }) => facts.subjectCn);
const chainNames = async (text: string): Promise<readonly (readonly string[])[]> =>
  (await read(text)).items.map(({ chain }) =>
    chain.map((pem) => /CN=(.*)/.exec(new X509Certificate(pem).subject)?.[1] ?? ''),
  );

describe('readUpload', function () {
  this.timeout(30_000);
  const { leaf, chain } = chainOf('leaf.example', 2);
  const [inner, outer, root] = chain as [MadeCertificate, MadeCertificate, MadeCertificate];
  const other = selfSigned('other.example');
  const spki = { type: 'spki', format: 'pem' } as const;
  const publicKey = createPublicKey(other.privateKey).export(spki).toString();
  const wholeChain = ['intermediate 1 of leaf.example', 'intermediate 0 of leaf.example', 'root of leaf.example'];

  it('reads a certificate with its key, which comes out as PKCS#8', async () => {
    const { items, warnings } = await read(other.certificate + other.privateKey);
    expect(items).to.have.length(1);
    expect(items[0]).to.include({ privateKeyPem: other.privateKey });
    expect(items[0]!.pem.trim()).to.equal(other.certificate.replaceAll('\r', '').trim());
    expect(items[0]!.fingerprint).to.match(/^[0-9a-f]{64}$/);
    expect(warnings).to.deep.equal([]);
  });

  it('reads a certificate without a key, with text and Windows line ends around it', async () => {
    const text = `subject: someone\r\n${other.certificate.replaceAll(/\r?\n/g, '\r\n')}trailing words`;
    expect((await read(text)).items[0]).to.not.have.property('privateKeyPem');
    expect(await commonNames(text)).to.deep.equal(['other.example']);
  });

  it('refuses a certificate whose times nobody can tell', async () => {
    const der = new X509Certificate(other.certificate).raw;
    // The first time of a certificate is its beginning, YYMMDDhhmmssZ.
    const month = der.toString('latin1').search(/\d{12}Z/) + 2;
    const broken = Buffer.from(der.with(month, 0x39)).toString('base64');
    const text = `-----BEGIN CERTIFICATE-----\n${broken}\n-----END CERTIFICATE-----\n`;
    expect(await refused(text)).to.equal('Failed to decode certificate. It should be PEM encoded.');
  });

  it('reads or refuses a certificate whichever of its bytes is another one', async () => {
    for (const { certificate } of [other, leaf]) {
      const der = new X509Certificate(certificate).raw;
      for (let place = 0; place < der.length; place++) {
        for (const byte of [0x00, 0x05, 0xff]) {
          const text = Buffer.from(der.with(place, byte)).toString('base64');
          const upload = read(`-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`);
          const outcome = await upload.catch((error: unknown) => error);
          if (outcome instanceof Error) assert(outcome instanceof Refusal, String(outcome));
        }
      }
    }
  });

  it('puts the chain of a certificate with a key in order, however it came', async () => {
    const parts = [leaf.certificate, inner.certificate, outer.certificate, root.certificate, leaf.privateKey];
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(parts, { minLength: parts.length }), async (shuffled) => {
        expect(await chainNames(shuffled.join(''))).to.deep.equal([wholeChain]);
      }),
      { numRuns: 15 },
    );
  });

  it('says what is known of every certificate of the chain', async () => {
    const [item] = (await read(leaf.certificate + leaf.privateKey + inner.certificate)).items;
    expect(item!.facts.chainFacts?.map(({ subjectCn, isCa }) => ({ subjectCn, isCa }))).to.deep.equal([
      { subjectCn: wholeChain[0], isCa: true },
    ]);
  });

  it('takes a certificate without key and what follows it as its issuers for one item', async () => {
    expect(await chainNames(leaf.certificate + inner.certificate + outer.certificate)).to.deep.equal([
      wholeChain.slice(0, 2),
    ]);
  });

  it('takes a bundle of roots for several items', async () => {
    expect(await commonNames(root.certificate + other.certificate)).to.deep.equal([
      'root of leaf.example',
      'other.example',
    ]);
  });

  it('takes several certificates with keys at once, in the order of the leaves', async () => {
    const sibling = signedBy(inner, 'sibling.example');
    const text = [
      ...[leaf.privateKey, sibling.certificate, inner.certificate, leaf.certificate, sibling.privateKey],
      ...[other.certificate],
    ].join('');
    expect(await commonNames(text)).to.deep.equal(['sibling.example', 'leaf.example', 'other.example']);
    expect(await chainNames(text)).to.deep.equal([[wholeChain[0]], [wholeChain[0]], []]);
    expect((await read(text)).items.map(({ privateKeyPem }) => privateKeyPem)).to.deep.equal([
      sibling.privateKey,
      leaf.privateKey,
      undefined,
    ]);
  });

  it('gives one key to a certificate and to its renewal', async () => {
    const renewed = selfSigned('other.example', 'rsa', { privateKey: other.privateKey });
    const { items } = await read(other.certificate + renewed.certificate + other.privateKey);
    expect(items.map(({ privateKeyPem }) => privateKeyPem)).to.deep.equal([other.privateKey, other.privateKey]);
  });

  it('takes public keys alone, each as an item without names and without end', async () => {
    const { items } = await read(publicKey + publicKey + createPublicKey(leaf.privateKey).export(spki));
    expect(items).to.have.length(2);
    const der = createPublicKey(other.privateKey).export({ type: 'spki', format: 'der' });
    expect(items[0]).to.deep.include({ fingerprint: createHash('sha256').update(der).digest('hex'), chain: [] });
    expect(items[0]!.facts).to.include({ notAfter: zeroTime, subjectCn: '', keyAlg: 'RSA 2048' });
  });

  it('counts what comes twice once', async () => {
    const text = other.certificate + other.privateKey;
    expect((await read(text + text)).items).to.have.length(1);
  });

  it('opens encrypted keys with the passphrase', async () => {
    const key = createPrivateKey(other.privateKey);
    for (const type of ['pkcs8', 'pkcs1'] as const) {
      const encrypted = key
        .export({ type, format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open' } as never)
        .toString();
      expect((await read(other.certificate + encrypted, 'open')).items[0]!.privateKeyPem, type).to.equal(
        other.privateKey,
      );
      for (const wrong of [undefined, '', 'wrong']) {
        expect(await refused(other.certificate + encrypted, wrong), type).to.equal('tls: failed to parse private key');
      }
    }
  });

  it('tells of blocks that it ignores', async () => {
    const { warnings } = await read(
      `-----BEGIN DH PARAMETERS-----\nMEYC\n-----END DH PARAMETERS-----\n${other.certificate}`,
    );
    expect(warnings.map(({ code, text }) => ({ code, text }))).to.deep.equal([
      { code: 'block_ignored', text: 'PEM block DH PARAMETERS is ignored' },
    ]);
  });

  it('warns of weak keys, SHA-1 and expired intermediates', async () => {
    const old = selfSigned('old root', 'rsa', { isCa: true, bits: 1024, notAfter: new Date(Date.now() - 1_000) });
    const weak = signedBy(old, 'weak.example', { digest: 'sha1' });
    expect((await read(weak.certificate + old.certificate)).warnings.map(({ code }) => code)).to.have.members([
      'chain_expired',
      'weak_signature',
      'weak_key',
    ]);
  });

  it('warns of a certificate that is not valid yet', async () => {
    const early = selfSigned('early', 'rsa', { notBefore: new Date(Date.now() + 86_400_000) });
    expect((await read(early.certificate)).warnings.map(({ code }) => code)).to.deep.equal(['not_yet_valid']);
  });

  const odd = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  const block = (label: string, body: string) => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
  const broken = 'Failed to decode certificate. It should be PEM encoded.';
  const cases: readonly [name: string, text: () => string, message: string | RegExp][] = [
    ['nothing', () => '', 'Failed to read response body, body empty.'],
    ['words', () => 'not a certificate', broken],
    ['broken base64', () => block('CERTIFICATE', 'a*b'), broken],
    ['broken DER', () => block('CERTIFICATE', 'AAAA'), broken],
    ['a block that is cut off', () => other.certificate.slice(0, 300), broken],
    ['a second block that is cut off', () => other.certificate + other.privateKey.slice(0, 300), broken],
    ['a block that ends as another', () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END PRIVATE KEY-----\n', broken],
    ['blocks of other kinds alone', () => block('DH PARAMETERS', 'MEYC'), broken],
    ['a key alone', () => other.privateKey, "Can't find CERTIFICATE block"],
    ['a broken key', () => other.certificate + block('PRIVATE KEY', 'AAAA'), 'tls: failed to parse private key'],
    [
      'a key that does not fit',
      () => other.certificate + leaf.privateKey,
      'tls: private key does not match public key',
    ],
    ['two keys', () => other.certificate + leaf.privateKey + inner.privateKey, 'Found multiple private keys'],
    [
      'one key too many',
      () => leaf.certificate + leaf.privateKey + other.certificate + inner.privateKey,
      'Found multiple private keys',
    ],
    ['a public key beside', () => other.certificate + publicKey, "Public keys can't be combined with certificates"],
    ['a public key and a private one', () => publicKey + other.privateKey, "Can't find CERTIFICATE block"],
    ['a broken public key', () => block('PUBLIC KEY', 'AAAA'), broken],
    [
      'a weak public key',
      () => createPublicKey(rsaKey(1024)).export(spki).toString(),
      'key type not supported: RSA 1024',
    ],
    ['DER that is cut off', () => '0\x82\x01\x02', broken],
    ['an expired certificate', () => expired('old.example').certificate, 'certificate is expired'],
    [
      'an expired certificate among others',
      () => other.certificate + expired('old.example').certificate,
      'item 2: certificate is expired',
    ],
    ['a short RSA key', () => other.certificate + rsaKey(1024), 'key type not supported: RSA 1024'],
    ['a key on another curve', () => other.certificate + odd, 'key type not supported: EC secp256k1'],
  ];
  for (const [name, text, message] of cases) {
    it(`refuses ${name}`, async () => {
      const found = await refused(text());
      if (typeof message === 'string') expect(found).to.equal(message);
      else expect(found).to.match(message);
    });
  }

  it('never repeats a key in a refusal', async () => {
    const secret = leaf.privateKey.split('\n')[3]!;
    expect(await refused(other.certificate + leaf.privateKey)).to.not.contain(secret);
  });

  it('answers or refuses whatever comes', async () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(other.certificate, other.privateKey, publicKey, '-----BEGIN ', '-----END CERTIFICATE-----', '\n'),
      fc.nat(other.certificate.length).map((length) => other.certificate.slice(length)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 5 }), async (pieces) => {
        try {
          expect((await read(pieces.join(''))).items).to.not.be.empty;
        } catch (error) {
          expect(error).to.be.instanceOf(Refusal);
        }
      }),
      { numRuns: 200 },
    );
  });

  describe('with openssl', () => {
    before(function () {
      needsOpenssl(this);
    });

    for (const kind of ['ec', 'ed25519'] as const) {
      it(`fits keys of kind ${kind}`, async () => {
        const made = selfSigned('b.example', kind);
        expect((await read(made.privateKey + made.certificate)).items[0]).to.include({
          privateKeyPem: made.privateKey,
        });
        expect(await refused(other.certificate + made.privateKey)).to.equal(
          'tls: private key does not match public key',
        );
      });
    }

    // Node ends the whole process when it is asked for the names of such a certificate.
    for (const kind of ['secp256k1', 'brainpoolP256r1'] as const) {
      it(`refuses certificates with keys of ${kind}, wherever they stand`, async () => {
        const text = `key type not supported: EC ${kind}`;
        const { certificate, privateKey } = selfSigned('odd.example', kind);
        expect(await refused(certificate)).to.equal(text);
        expect(await refused(certificate + privateKey)).to.equal(text);
        expect(await refused(other.certificate + certificate)).to.equal(`item 2: ${text}`);
        const together = Buffer.from(other.certificate + certificate, 'latin1');
        const alone = await readUpload(together, { now: Date.now(), isOneChain: true }).catch(String);
        expect(alone).to.match(/certificate [0-9a-f]{16} is not in the chain of other\.example$/);
      });
    }
  });
});
