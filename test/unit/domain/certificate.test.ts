/** The certificate aggregate by given, when, then. */
import { expect } from 'chai';
import { type CertificateCommand, type CertificateEvent, certificate } from '../../../domain/certificate.ts';
import { fold } from '../../../domain/decider.ts';
import {
  certIdOf,
  certificateDeleted,
  certificateFacts,
  certificateImported,
  givenFor,
  keyAttached,
  keyShredded,
  org,
  sealed,
} from '../../support/given.ts';

const given = givenFor(certificate);

const base = { orgId: org, certId: certIdOf('a') };
const importing = (
  parts: { readonly chain?: readonly string[]; readonly privateKey?: string; readonly name?: string } = {},
): CertificateCommand => {
  const { chain = [], ...rest } = parts;
  return { type: 'ImportCertificate', ...base, pem: 'PEM of a', parsed: certificateFacts('a'), chain, ...rest };
};
const withKey = importing({ privateKey: 'KEY' });
const remove: CertificateCommand = { type: 'DeleteCertificate', ...base };
const clear = { secret: { clear: 'KEY' } };
const imported = (parts: Parameters<typeof certificateImported>[1] = {}) => certificateImported('a', parts);

describe('ImportCertificate', () => {
  it('brings a new certificate without a key', () => given().when(importing()).results(imported()));

  it('brings a new certificate with its key, still to be sealed', () =>
    given()
      .when(withKey)
      .results({ ...imported(), ...clear } as CertificateEvent));

  it('keeps the chain in its order and the name', () =>
    given()
      .when(importing({ chain: ['B', 'A'], name: 'front' }))
      .results(imported({ chain: ['B', 'A'], name: 'front' })));

  it('changes nothing when it comes again', () => given(imported()).when(importing()).results());

  it('attaches a key that comes later', () =>
    given(imported())
      .when(withKey)
      .results({ ...keyAttached('a'), ...clear } as CertificateEvent));

  it('changes nothing when the key is held already', () =>
    given(imported({ hasKey: true }))
      .when(withKey)
      .results());

  it('changes nothing when the key was attached', () => given(imported(), keyAttached('a')).when(withKey).results());

  it('keeps a key that the upload leaves out', () =>
    given(imported({ hasKey: true }))
      .when(importing())
      .results());

  it('takes another chain as a new import', () =>
    given(imported())
      .when(importing({ chain: ['A'] }))
      .results(imported({ chain: ['A'] })));

  it('does not seal a held key again for another chain', () =>
    given(imported({ hasKey: true }))
      .when(importing({ chain: ['A'], privateKey: 'KEY' }))
      .results(imported({ chain: ['A'] })));

  it('brings the key that comes with another chain', () =>
    given(imported())
      .when(importing({ chain: ['A'], privateKey: 'KEY' }))
      .results({ ...imported({ chain: ['A'] }), ...clear } as CertificateEvent));

  it('is new again after a deletion, without the old key', () =>
    given(imported({ hasKey: true }), certificateDeleted('a'))
      .when(importing())
      .results(imported()));
});

describe('DeleteCertificate', () => {
  it('deletes', () => given(imported()).when(remove).results(certificateDeleted('a')));

  it('refuses what is not there', () =>
    given().when(remove).refuses('certificate_unknown', 'Certificate with given SHA256 fingerprint not found'));

  it('refuses what is gone', () =>
    given(imported(), certificateDeleted('a')).when(remove).refuses('certificate_unknown'));
});

describe('ShredCertificateKey', () => {
  const shred = (kid = 'kid'): CertificateCommand => ({ type: 'ShredCertificateKey', ...base, kid, reason: 'asked' });
  const other = imported({ hasKey: true, kid: 'other' });

  it('takes the key from a certificate that lives on', () =>
    given(imported({ hasKey: true }))
      .when(shred())
      .results(keyShredded('a', 'asked')));

  it('takes a key that was attached later', () =>
    given(imported(), keyAttached('a')).when(shred()).results(keyShredded('a', 'asked')));

  it('takes the key of a certificate that was deleted', () =>
    given(imported({ hasKey: true }), certificateDeleted('a'))
      .when(shred())
      .results(keyShredded('a', 'asked')));

  it('takes the key of a certificate that was deleted and came back with another one', () =>
    given(imported({ hasKey: true }), certificateDeleted('a'), other)
      .when(shred())
      .results(keyShredded('a', 'asked')));

  for (const [name, ...events] of [
    ['a key that it never had', other],
    ['a key without certificate'],
    ['a key that was taken already', imported({ hasKey: true }), keyShredded('a')],
    ['a key that was taken after the end', imported({ hasKey: true }), certificateDeleted('a'), keyShredded('a')],
  ] as readonly (readonly [string, ...CertificateEvent[]])[]) {
    it(`changes nothing for ${name}`, () =>
      given(...events)
        .when(shred())
        .results());
  }

  it('leaves room for a new key', () =>
    given(imported({ hasKey: true }), keyShredded('a'))
      .when(withKey)
      .results({ ...keyAttached('a'), ...clear } as CertificateEvent));
});

describe('the state of a certificate', () => {
  it('names the keys that its end left, until they are shredded', () => {
    const events = [imported({ hasKey: true }), certificateDeleted('a'), imported({ hasKey: true, kid: 'other' })];
    expect(fold(certificate, events))
      .to.include({ exists: true, kid: 'other' })
      .and.to.deep.include({ doomed: ['kid'] });
    expect(fold(certificate, [...events, keyShredded('a')])).to.deep.include({ kid: 'other', doomed: [] });
  });

  it('keeps a key that was brought back before it was shredded', () => {
    const events = [imported({ hasKey: true }), certificateDeleted('a'), imported({ hasKey: true })];
    expect(fold(certificate, events)).to.deep.include({ kid: 'kid', doomed: [] });
  });

  it('keeps its key through another chain', () => {
    const state = fold(certificate, [imported({ hasKey: true }), imported({ chain: ['A'] })]);
    expect(state).to.deep.equal({ exists: true, hasPrivate: true, kid: sealed.kid, chain: ['A'], doomed: [] });
  });

  it('takes no key without a certificate', () =>
    expect(fold(certificate, [keyAttached('a')])).to.deep.equal({ exists: false, doomed: [] }));
});
