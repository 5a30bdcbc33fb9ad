/** PKCS#12 files of the program openssl and of node-forge, old and new, and bytes that only look like one. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { assert, expect } from 'chai';
import fc from 'fast-check';
import forge from 'node-forge';
import { Refusal } from '../../../../domain/errors.ts';
import { readUpload } from '../../../../src/management/upload/certificate-upload.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { chainOf, type MadeCertificate, needsOpenssl, selfSigned } from '../../../support/test-ca.ts';

const password = 'geheim ü€';
const read = (bytes: Uint8Array, passphrase?: string) => readUpload(bytes, { now: Date.now(), passphrase });

const refused = async (bytes: Uint8Array, passphrase?: string): Promise<string> => {
  try {
    await read(bytes, passphrase);
  } catch (error) {
    assert(error instanceof Refusal, String(error));
    expect(error.code).to.equal('certificate_invalid');
    return error.message;
  }
  return assert.fail('was not refused');
};

type Made = {
  readonly leaf: MadeCertificate;
  readonly chain?: readonly MadeCertificate[];
  readonly pass?: string;
  readonly flags?: readonly string[];
};

function pkcs12({ leaf, chain = [], pass = password, flags = [] }: Made): Buffer {
  using folder = temporaryFolder();
  const [key, certificate, others] = ['key.pem', 'leaf.pem', 'chain.pem'].map((name) => folder.file(name));
  writeFileSync(key!, leaf.privateKey);
  writeFileSync(certificate!, leaf.certificate);
  writeFileSync(others!, chain.map((made) => made.certificate).join(''));
  const more = chain.length > 0 ? ['-certfile', others!] : [];
  const command = ['pkcs12', '-export', '-inkey', key!, '-in', certificate!, ...more, '-passout', `pass:${pass}`];
  return execFileSync('openssl', [...command, ...flags], { stdio: 'pipe' });
}

describe('readUpload of PKCS#12', function () {
  this.timeout(30_000);
  before(function () {
    needsOpenssl(this);
  });

  const made = chainOf('p12.example');
  const expectWhole = async (bytes: Buffer, pass = password) => {
    const { items, warnings } = await read(bytes, pass);
    expect(items).to.have.length(1);
    expect(items[0]).to.include({ privateKeyPem: made.leaf.privateKey });
    expect(items[0]!.chain).to.have.length(2);
    expect(items[0]!.facts.subjectCn).to.equal('p12.example');
    expect(warnings).to.deep.equal([]);
  };

  const forms: readonly [name: string, flags: readonly string[]][] = [
    ['AES-256 and SHA-256, as it is written today', []],
    ['AES-128 and a seal with SHA-512', ['-keypbe', 'AES-128-CBC', '-certpbe', 'AES-128-CBC', '-macalg', 'sha512']],
    ['a seal with SHA-384', ['-macalg', 'sha384']],
    ['AES-192 and one round', ['-keypbe', 'AES-192-CBC', '-certpbe', 'AES-192-CBC', '-noiter', '-nomaciter']],
    ['3DES in the new scheme', ['-keypbe', 'DES-EDE3-CBC', '-certpbe', 'DES-EDE3-CBC']],
    ['RC2 and 3DES, as it was written before', ['-legacy']],
    ['RC2 of 128 bits and 3DES of two keys', ['-legacy', '-certpbe', 'PBE-SHA1-RC2-128', '-keypbe', 'PBE-SHA1-2DES']],
    ['certificates that are not encrypted', ['-certpbe', 'NONE']],
    ['a key that is not encrypted', ['-keypbe', 'NONE', '-certpbe', 'NONE']],
    ['no seal', ['-nomac']],
    ['50,000 rounds', ['-iter', '50000']],
  ];
  for (const [name, flags] of forms) {
    it(`opens a file with ${name}`, () => expectWhole(pkcs12({ ...made, flags })));
  }

  it('opens a file without password', async () => {
    const bytes = pkcs12({ ...made, pass: '' });
    await expectWhole(bytes, '');
    expect((await read(bytes)).items).to.have.length(1);
  });

  for (const kind of ['ec', 'ed25519'] as const) {
    it(`takes keys of kind ${kind} out`, async () => {
      const leaf = selfSigned('b.example', kind);
      expect((await read(pkcs12({ leaf }), password)).items[0]).to.include({ privateKeyPem: leaf.privateKey });
    });
  }

  it('opens what another program made, in pieces as BER allows', async () => {
    const key = forge.pki.privateKeyFromPem(made.leaf.privateKey);
    const certificates = [made.leaf, ...made.chain].map(({ certificate }) => forge.pki.certificateFromPem(certificate));
    const asn1 = forge.pkcs12.toPkcs12Asn1(key, certificates, 'other', { algorithm: '3des' });
    await expectWhole(Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'binary'), 'other');
    // The content as a constructed string of two pieces.
    const octets = asn1.value[1] as never as { value: { value: forge.asn1.Asn1[] }[] };
    const [whole] = octets.value[1]!.value;
    const text = whole!.value as string;
    const { Class, Type, create } = forge.asn1;
    const pieces = [text.slice(0, 700), text.slice(700)].map((piece) =>
      create(Class.UNIVERSAL, Type.OCTETSTRING, false, piece),
    );
    octets.value[1]!.value[0] = create(Class.UNIVERSAL, Type.OCTETSTRING, true, pieces);
    await expectWhole(Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'binary'), 'other');
  });

  it('refuses a wrong password or none, in every form', async () => {
    for (const flags of [[], ['-legacy'], ['-nomac']]) {
      const bytes = pkcs12({ ...made, flags });
      for (const pass of [undefined, '', 'wrong']) {
        expect(await refused(bytes, pass), flags.join()).to.equal('tls: failed to parse private key');
      }
    }
  });

  it('refuses a file without certificate', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('key.pem'), made.leaf.privateKey);
    const command = ['pkcs12', '-export', '-nocerts', '-inkey', folder.file('key.pem'), '-passout', 'pass:x'];
    expect(await refused(execFileSync('openssl', command, { stdio: 'pipe' }), 'x')).to.equal(
      "Can't find CERTIFICATE block",
    );
  });

  it('refuses to work longer on a password than files that people make ask for', async () => {
    const bytes = pkcs12({ ...made, flags: ['-iter', '4000000', '-nomac', '-certpbe', 'NONE'] });
    expect(await refused(bytes, password)).to.match(/^PKCS#12 is not supported with 4000000 rounds/);
  });

  it('refuses to work longer on a key in PEM', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('key.pem'), made.leaf.privateKey);
    const command = ['pkcs8', '-topk8', '-in', folder.file('key.pem'), '-passout', 'pass:x', '-iter', '3100000'];
    const key = execFileSync('openssl', command, { stdio: 'pipe' });
    expect(await refused(Buffer.concat([Buffer.from(made.leaf.certificate), key]), 'x')).to.equal(
      'tls: failed to parse private key',
    );
  });

  it('answers or refuses whatever a file is turned into', async () => {
    const bytes = pkcs12({ ...made, flags: ['-iter', '1'] });
    const change = fc.record({ place: fc.nat(bytes.length - 1), byte: fc.nat(255), end: fc.nat(bytes.length) });
    await fc.assert(
      fc.asyncProperty(change, async ({ place, byte, end }) => {
        const changed = Buffer.from(bytes);
        changed[place] = byte;
        for (const given of [changed, bytes.subarray(0, end)]) {
          try {
            expect((await read(given, password)).items).to.not.be.empty;
          } catch (error) {
            expect(error).to.be.instanceOf(Refusal);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
