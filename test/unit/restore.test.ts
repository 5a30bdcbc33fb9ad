/** Restore by given, when, then: the events between what an object is and what it was. */
import { expect } from 'chai';
import fc from 'fast-check';
import { type ApiEvent, type ApiState, api } from '../../domain/api/api.ts';
import { type CertificateEvent, certificate } from '../../domain/certificate.ts';
import { fold } from '../../domain/decider.ts';
import type { Secret } from '../../domain/event.ts';
import { toApiId } from '../../domain/ids.ts';
import type { ReservationState } from '../../domain/reservation.ts';
import {
  type CertificateContent,
  certificateContent,
  moveClaim,
  needsKey,
  restoreApi,
  restoreCertificate,
} from '../../domain/restore.ts';
import { apiDocument } from '../support/documents.ts';
import {
  apiCreated,
  apiDeleted,
  apiReplaced,
  certIdOf,
  certificateDeleted,
  certificateImported,
  keyAttached,
  org,
  sealed,
} from '../support/given.ts';

const options = { keepNew: false, reason: 'noon' };
const orders = { orgId: org, apiId: toApiId('orders'), toRevision: '4', warnings: [] };
const named = (name: string, active = true) => apiDocument({ info: { name, state: { active, internal: false } } });
const stateOf = (...events: readonly ApiEvent[]): ApiState => fold(api, events);
const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

describe('an API', () => {
  const one = stateOf(apiCreated({ document: named('one') }));
  const gone = stateOf(apiCreated(), apiDeleted());
  const cases: readonly (readonly [string, ApiState, ApiState, string, readonly string[]])[] = [
    ['that is as it was has no event', one, one, 'none', []],
    ['that is gone and was not there has no event', gone, api.initial, 'none', []],
    [
      'that changed is rolled back',
      stateOf(apiCreated({ document: named('two') })),
      one,
      'changed',
      ['ApiDefinitionRolledBack'],
    ],
    [
      'that was switched off since is switched on',
      stateOf(apiCreated({ document: named('one', false) })),
      one,
      'changed',
      ['ApiDefinitionRolledBack', 'ApiActivated'],
    ],
    ['that is gone is created', gone, one, 'created', ['ApiDefinitionCreated', 'ApiActivated']],
    ['that was made later is deleted', one, gone, 'deleted', ['ApiDefinitionDeleted']],
    [
      'of another kind makes room for the one that was there',
      one,
      { ...one, kind: 'oas' } as ApiState,
      'changed',
      ['ApiDefinitionDeleted', 'ApiDefinitionCreated', 'ApiActivated'],
    ],
  ];
  for (const [name, now, past, change, types] of cases) {
    it(name, () => {
      const restored = restoreApi(orders, now, past, options);
      expect(restored.change).to.equal(change);
      expect(typesOf(restored.events)).to.deep.equal(types);
    });
  }

  it('that was made later is kept when asked for', () =>
    expect(restoreApi(orders, one, gone, { ...options, keepNew: true })).to.deep.equal({ change: 'kept', events: [] }));

  it('is rolled back with the revision and the reason', () =>
    expect(
      restoreApi(orders, stateOf(apiCreated(), apiReplaced({ document: named('two') })), one, options).events[0],
    ).to.include({ type: 'ApiDefinitionRolledBack', toRevision: '4', reason: 'noon' }));
});

describe('a certificate', () => {
  const target = { orgId: org, certId: certIdOf('x') };
  const key: Secret = { clear: 'a private key', kid: 'kid' };
  const anyHistory: fc.Arbitrary<readonly CertificateEvent[]> = fc.array(
    fc.constantFrom<CertificateEvent>(
      certificateImported('x'),
      certificateImported('x', { chain: ['root'], name: 'named' }),
      certificateImported('x', { hasKey: true }),
      keyAttached('x'),
      certificateDeleted('x'),
      { type: 'CertificateKeyShredded', ...target, kid: sealed.kid, reason: 'asked' },
    ),
    { maxLength: 6 },
  );
  const shown = (content: CertificateContent | undefined) =>
    content && { name: content.name, pem: content.pem, chain: content.chain, hasKey: content.key !== undefined };

  it('is as it was after the events of any restore, which a second one has none of', () =>
    fc.assert(
      fc.property(anyHistory, anyHistory, (until, since) => {
        const past = certificateContent(until);
        const now = certificateContent([...until, ...since]);
        const withKey = needsKey(now, past) ? { ...target, key } : target;
        const { events } = restoreCertificate(withKey, now, past, options);
        const restored = certificateContent([...until, ...since, ...events]);
        expect(shown(restored)).to.deep.equal(shown(past));
        expect(restoreCertificate(target, restored, past, options)).to.deep.equal({ change: 'none', events: [] });
      }),
    ));

  it('comes back without its key when that is gone', () => {
    const past = certificateContent([certificateImported('x', { hasKey: true })]);
    const { change, events } = restoreCertificate(target, undefined, past, options);
    expect(change).to.equal('created');
    expect(events[0]).not.to.have.property('secret');
    expect(restoreCertificate(target, certificateContent([certificateImported('x')]), past, options).change).to.equal(
      'none',
    );
  });

  it('keeps the key that it holds, which is the same one under another name', () => {
    const past = certificateContent([certificateImported('x', { hasKey: true })]);
    const now = certificateContent([
      { ...certificateImported('x', { chain: ['root'] }), secret: { ...sealed, kid: 'other' } } as CertificateEvent,
    ]);
    expect(needsKey(now, past)).to.equal(false);
    const { events } = restoreCertificate({ ...target, key }, now, past, options);
    expect(events).to.have.length(1);
    expect(events[0]).not.to.have.property('secret');
  });

  it('takes its key back from those that are to be shredded', () => {
    const until = [certificateImported('x', { hasKey: true })];
    for (const since of [[certificateDeleted('x')], [certificateDeleted('x'), certificateImported('x')]]) {
      const all = [...until, ...since];
      expect(fold(certificate, all).doomed).to.deep.equal([sealed.kid]);
      const past = certificateContent(until);
      const { events } = restoreCertificate({ ...target, key }, certificateContent(all), past, options);
      expect(fold(certificate, [...all, ...events])).to.deep.include({ kid: sealed.kid, doomed: [] });
    }
  });

  it('that was made later is deleted, or kept when asked for', () => {
    const now = certificateContent([certificateImported('x')]);
    expect(typesOf(restoreCertificate(target, now, undefined, options).events)).to.deep.equal(['CertificateDeleted']);
    expect(restoreCertificate(target, now, undefined, { keepNew: true }).change).to.equal('kept');
  });
});

describe('a route', () => {
  const common = { orgId: org, value: '\n/x', listenPath: '/x', commandId: 'c' };
  const held = (owner: string, orgId = org): ReservationState => ({ holder: { orgId, owner, ownerName: owner } });
  const taker = { apiId: toApiId('a'), name: 'A' };
  const by = (...ids: readonly string[]) => new Set(ids);
  const move = (parts: { releasedBy: ReadonlySet<string>; taker?: typeof taker }, state: ReservationState) =>
    typesOf(moveClaim({ ...common, ...parts }, state));

  it('is taken, let go, and given on in one step', () => {
    expect(move({ releasedBy: by(), taker }, {})).to.deep.equal(['NameReserved']);
    expect(move({ releasedBy: by('b') }, held('b'))).to.deep.equal(['NameReleased']);
    expect(move({ releasedBy: by('b'), taker }, held('b'))).to.deep.equal(['NameReleased', 'NameReserved']);
  });

  it('stays where it is when the taker has it, or another one than who lets it go', () => {
    expect(move({ releasedBy: by('a'), taker }, held('a'))).to.deep.equal([]);
    expect(move({ releasedBy: by('b') }, held('c'))).to.deep.equal([]);
    expect(move({ releasedBy: by('b') }, held('b', 'other' as typeof org))).to.deep.equal([]);
  });

  it('is not taken from one that keeps it', () => {
    expect(() => move({ releasedBy: by('b'), taker }, held('c'))).to.throw('belongs to API c (c)');
    expect(() => move({ releasedBy: by('c'), taker }, held('c', 'other' as typeof org))).to.throw('"/x" is taken');
  });
});
