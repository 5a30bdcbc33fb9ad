/** Facts of certificates: RSA made by node-forge, EC and Ed25519 by openssl. */
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import {
  alternativeNames,
  factsOf,
  fingerprintOf,
  isIssuedBy,
  keyStrength,
  readCertificate,
} from '../../../../src/management/upload/x509.ts';
import { chainOf, needsOpenssl, selfSigned } from '../../../support/test-ca.ts';

const facts = (pem: string) => factsOf(readCertificate(pem));

describe('factsOf', () => {
  it('reads an RSA certificate', () => {
    const { certificate } = selfSigned('a.example', 'rsa', {
      dnsNames: ['a.example', '*.a.example'],
      ipAddresses: ['10.0.0.1', '::1', '2001:db8::42'],
      notBefore: new Date('2026-01-02T03:04:05Z'),
      notAfter: new Date('2036-01-02T03:04:05Z'),
      isCa: true,
    });
    expect(facts(certificate)).to.deep.include({
      subjectCn: 'a.example',
      issuerCn: 'a.example',
      dnsNames: ['a.example', '*.a.example'],
      ipAddresses: ['10.0.0.1', '::1', '2001:db8::42'],
      notBefore: '2026-01-02T03:04:05Z',
      notAfter: '2036-01-02T03:04:05Z',
      isCa: true,
      keyAlg: 'RSA 2048',
      signatureAlgorithm: 'sha256WithRSAEncryption',
    });
  });

  it('adds no common name to the DNS names', () => {
    expect(facts(selfSigned('a.example').certificate).dnsNames).to.deep.equal([]);
  });

  it('keeps the parts of a subject apart, whatever characters they hold', () => {
    const subject = [
      ['C', 'NO'],
      ['O', 'A, "Inc" + Søn\nCN=evil.example'],
      ['OU', 'one'],
      ['OU', 'two'],
    ] as const;
    const { subject: name } = facts(selfSigned('good.example', 'rsa', { subject }).certificate);
    expect(name).to.deep.include({
      commonName: 'good.example',
      country: ['NO'],
      organization: ['A, "Inc" + Søn\nCN=evil.example'],
      organizationalUnit: ['one', 'two'],
      serialNumber: '',
    });
  });

  it('takes the last of several common names', () => {
    const { certificate } = selfSigned('last.example', 'rsa', { subject: [['CN', 'first.example']] });
    expect(facts(certificate).subjectCn).to.equal('last.example');
  });

  it('takes a name that holds a separator for one name', () => {
    const dnsNames = ['a.example, DNS:evil.example', 'q"x', 'plain.example'];
    expect(facts(selfSigned('a', 'rsa', { dnsNames }).certificate).dnsNames).to.deep.equal(dnsNames);
  });

  it('takes the fingerprint from the DER', () => {
    const { certificate } = selfSigned('a');
    const der = Buffer.from(certificate.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    expect(facts(certificate).fingerprint).to.equal(createHash('sha256').update(der).digest('hex'));
    expect(fingerprintOf(readCertificate(der))).to.match(/^[0-9a-f]{64}$/);
  });

  describe('with openssl', () => {
    before(function () {
      needsOpenssl(this);
    });

    const kinds = [
      ['ec', 'EC P-256', /ecdsa-with-SHA256/],
      ['ed25519', 'Ed25519', /ed25519/i],
    ] as const;
    for (const [kind, keyAlg, signature] of kinds) {
      it(`reads ${keyAlg}`, () => {
        const made = selfSigned('b.example', kind, { dnsNames: ['b.example'], ipAddresses: ['::1'] });
        const found = facts(made.certificate);
        expect(found).to.deep.include({
          subjectCn: 'b.example',
          dnsNames: ['b.example'],
          ipAddresses: ['::1'],
          keyAlg,
        });
        expect(found.signatureAlgorithm).to.match(signature);
        expect(keyStrength(readCertificate(made.certificate).publicKey)).to.equal('supported');
      });
    }
  });
});

describe('alternativeNames', () => {
  const cases: readonly [name: string, text: string, dnsNames: readonly string[], ipAddresses: readonly string[]][] = [
    ['nothing', '', [], []],
    ['other kinds between', 'email:x@y, DNS:a, URI:http://h/p, IP Address:1.2.3.4, DNS:b', ['a', 'b'], ['1.2.3.4']],
    ['a quoted URI that pretends', 'URI:"http://x/\\u002c DNS:evil", DNS:a', ['a'], []],
    ['a quoted directory name', 'DirName:"CN=a\\u002cO=b", DNS:c', ['c'], []],
    ['a long IPv6 address', 'IP Address:2001:DB8:0:0:0:0:0:1', [], ['2001:db8::1']],
    ['an unsupported kind', 'othername: UPN::<unsupported>, DNS:a', ['a'], []],
  ];
  for (const [name, text, dnsNames, ipAddresses] of cases) {
    it(`reads ${name}`, () => expect(alternativeNames(text)).to.deep.equal({ dnsNames, ipAddresses }));
  }
});

describe('isIssuedBy', () => {
  it('asks for the name, not for the key alone', () => {
    const { leaf, chain } = chainOf('leaf.example', 0);
    const renamed = selfSigned('another name', 'rsa', { privateKey: chain[0]!.privateKey });
    expect(isIssuedBy(readCertificate(leaf.certificate), readCertificate(renamed.certificate))).to.equal(false);
  });

  it('asks for the signature, not for the name alone', () => {
    const { leaf, chain } = chainOf('leaf.example', 0);
    const impostor = selfSigned('root of leaf.example', 'rsa', { isCa: true });
    const certificate = readCertificate(leaf.certificate);
    expect(isIssuedBy(certificate, readCertificate(chain[0]!.certificate))).to.equal(true);
    expect(isIssuedBy(certificate, readCertificate(impostor.certificate))).to.equal(false);
  });
});
