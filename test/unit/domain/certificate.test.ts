/** The certificate aggregate by given, when, then. */
import { expect } from 'chai';
import { type CertificateCommand, type CertificateEvent, certificate, dueRemark } from '../../../domain/certificate.ts';
import type { CertificateUse } from '../../../domain/certificate-use.ts';
import { fold } from '../../../domain/decider.ts';
import { toApiId } from '../../../domain/ids.ts';
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
const unused = { usedBy: [], isForced: false };
const remove: CertificateCommand = { type: 'DeleteCertificate', ...base, ...unused };
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

  it('takes another name when it comes again, and keeps its own without one', () => {
    const named = { type: 'CertificateRenamed', ...base, name: 'back' } as const;
    given(imported({ name: 'front' }))
      .when(importing())
      .results();
    given(imported({ name: 'front' }))
      .when(importing({ name: 'front' }))
      .results();
    given(imported({ name: 'front' }))
      .when(importing({ name: 'back' }))
      .results(named);
    given(imported())
      .when(importing({ privateKey: 'KEY', name: 'back' }))
      .results({ ...keyAttached('a'), ...clear } as CertificateEvent, named);
  });

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
    const none = { name: '', noted: {}, doomed: [] };
    expect(state).to.deep.equal({ exists: true, hasPrivate: true, kid: sealed.kid, chain: ['A'], ...none });
  });

  it('takes no key without a certificate', () =>
    expect(fold(certificate, [keyAttached('a')])).to.deep.equal({ exists: false, doomed: [] }));
});

describe('RenameCertificate', () => {
  const rename = (name: string): CertificateCommand => ({ type: 'RenameCertificate', ...base, name });
  const renamed = (name: string): CertificateEvent => ({ type: 'CertificateRenamed', ...base, name });

  it('gives another name, once', () => {
    given(imported({ name: 'front' }))
      .when(rename('back'))
      .results(renamed('back'));
    given(imported(), renamed('back')).when(rename('back')).results();
  });

  it('refuses what is not there', () => given().when(rename('back')).refuses('certificate_unknown'));
});

describe('what is used', () => {
  const usedBy = ['API orders (server)', 'key 12ab'];
  for (const type of ['DeleteCertificate', 'DestroyCertificateKey'] as const) {
    it(`is not lost by ${type} unless that is forced`, () => {
      const text = 'in use by API orders (server), key 12ab; force=true does it all the same';
      const command = { type, ...base, usedBy };
      given(imported({ hasKey: true }))
        .when({ ...command, isForced: false })
        .refuses('certificate_in_use', text);
      given(imported({ hasKey: true }))
        .when({ ...command, isForced: true })
        .decides(type === 'DeleteCertificate' ? 'CertificateDeleted' : 'CertificateKeyShredded');
    });
  }

  it('is no question for a certificate without key', () =>
    given(imported())
      .when({ type: 'DestroyCertificateKey', ...base, usedBy, isForced: false })
      .results());
});

describe('NoteCertificateEnd', () => {
  const notAfter = '2027-01-01T00:00:00Z';
  const orders = { role: 'server', apiId: toApiId('orders') } as const;
  const soon = (days: number, use = {}): CertificateEvent => ({
    ...{ type: 'CertificateExpiringSoon', ...base, notAfter, days },
    ...use,
  });
  const ended = (use = {}): CertificateEvent => ({ type: 'CertificateExpired', ...base, notAfter, ...use });
  const note = (due: number | undefined, ...uses: readonly CertificateUse[]): CertificateCommand => ({
    ...{ type: 'NoteCertificateEnd', ...base, notAfter, due, uses },
  });

  it('says nothing before the first threshold', () => given(imported()).when(note(undefined)).results());

  it('says it without an API when none uses the certificate', () => given(imported()).when(note(30)).results(soon(30)));

  it('says it for every use', () => {
    const pin = { role: 'pin', apiId: toApiId('b') } as const;
    given(imported())
      .when(note(30, orders, pin))
      .results(soon(30, orders), soon(30, pin));
  });

  it('says each once, also when the use is new', () => {
    given(imported(), soon(30)).when(note(30)).results();
    given(imported(), soon(30)).when(note(30, orders)).results(soon(30, orders));
    given(imported(), soon(30, orders)).when(note(14, orders)).results(soon(14, orders));
    given(imported(), soon(14, orders)).when(note(30, orders)).results();
  });

  it('says the end once, and nothing after it', () => {
    given(imported(), soon(1)).when(note(0)).results(ended());
    given(imported(), ended()).when(note(0)).results();
    given(imported(), ended()).when(note(1)).results();
  });

  it('begins anew with a certificate that was deleted and came again', () =>
    given(imported(), soon(30), certificateDeleted('a'), imported()).when(note(30)).results(soon(30)));

  it('says nothing of what is gone', () => given(imported(), certificateDeleted('a')).when(note(0)).results());

  const day = 86_400_000;
  const due: readonly (readonly [left: number, expected: number | undefined])[] = [
    [61 * day, undefined],
    [60 * day, 60],
    [30 * day + 1, 60],
    [30 * day, 30],
    [6 * day, 7],
    [1, 1],
    [0, 1],
    [-1, 0],
  ];
  for (const [left, expected] of due) {
    it(`is due at ${expected ?? 'nothing'} with ${left} ms left`, () =>
      expect(dueRemark(1e12 + left, 1e12, [60, 30, 14, 7, 1])).to.equal(expected));
  }
});
