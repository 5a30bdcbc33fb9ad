/** Places named in requests, and APIs as they were there. */
import { expect } from 'chai';
import fc from 'fast-check';
import { api } from '../../../../domain/api/api.ts';
import { fold } from '../../../../domain/decider.ts';
import { Refusal } from '../../../../domain/errors.ts';
import { padPosition } from '../../../../domain/event-store.ts';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { apiAt, apiAtRevision, resolveAt, resolveRange } from '../../../../src/management/past/time-travel.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { apiDocument } from '../../../support/documents.ts';
import {
  apiActivated,
  apiCreated,
  apiDeactivated,
  apiDeleted,
  apiReplaced,
  appendEvents,
  certificateImported,
  org,
} from '../../../support/given.ts';

const orders = toApiId('orders');
const start = Date.parse('2026-03-01T00:00:00Z');
const position = (number: number) => padPosition(String(number));

/** A log whose events are stored an hour apart, the first at the start. */
async function logOf(...events: Parameters<typeof appendEvents>[1][]): Promise<MemoryEventStore> {
  let index = 0;
  const store = new MemoryEventStore({ now: () => start + index++ * 3_600_000 });
  await appendEvents(store, ...events);
  return store;
}

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'was not refused',
    (error: Refusal) => `${error instanceof Refusal && error.code}: ${error.message}`,
  );

describe('resolveAt', () => {
  let store: MemoryEventStore;
  before(async () => {
    store = await logOf(apiCreated(), apiActivated(), apiDeleted());
  });
  const now = start + 10 * 3_600_000;

  const cases: readonly [name: string, text: string, place: string][] = [
    ['a position', '2', position(2)],
    ['a position with leading zeros', position(2), position(2)],
    ['the place before everything', '0', ''],
    ['a time between two events', '2026-03-01T01:30:00Z', position(2)],
    ['the very time of an event', '2026-03-01T01:00:00Z', position(2)],
    ['a time with milliseconds', '2026-03-01T00:59:59.999Z', position(1)],
    ['a time with an offset', '2026-03-01T03:30:00+02:00', position(2)],
    ['a time in small letters', '2026-03-01t01:30:00z', position(2)],
    ['a time before the first event', '2025-01-01T00:00:00Z', ''],
    ['a time after the last one', '2026-03-01T09:00:00Z', position(3)],
  ];
  for (const [name, text, place] of cases) {
    it(`reads ${name}`, async () => expect(await resolveAt(store, text, now)).to.equal(place));
  }

  const refused: readonly [name: string, text: string, says: string][] = [
    ['words', 'yesterday', 'must be a time'],
    ['nothing', '', 'must be a time'],
    ['a date alone', '2026-03-01', 'must be a time'],
    ['a time without offset', '2026-03-01T00:00:00', 'must be a time'],
    ['a month that is none', '2026-13-01T00:00:00Z', 'must be a time'],
    ['a day that is none', '2026-02-30T00:00:00Z', 'must be a time'],
    ['a number that is no position', '1'.repeat(21), 'must be a time'],
    ['a negative number', '-1', 'must be a time'],
    ['a position in the future', '4', 'position 4 is in the future'],
    ['a time in the future', '2026-03-02T00:00:00Z', '2026-03-02T00:00:00Z is in the future'],
  ];
  for (const [name, text, says] of refused) {
    it(`refuses ${name}`, async () => {
      expect(await refusal(resolveAt(store, text, now)))
        .to.match(/^at_invalid: at: /)
        .and.to.contain(says);
    });
  }
});

describe('resolveRange', () => {
  let store: MemoryEventStore;
  before(async () => {
    store = await logOf(apiCreated(), apiActivated(), apiDeleted());
  });

  it('leaves out what is not limited', async () => expect(await resolveRange(store, {})).to.deep.equal({}));

  it('takes positions as they are', async () => {
    expect(await resolveRange(store, { from: '2', to: '77' })).to.deep.equal({ from: position(2), to: position(77) });
  });

  it('starts behind the last event that is too early', async () => {
    const { from } = await resolveRange(store, { from: '2026-03-01T01:00:00Z' });
    expect(from! > position(1) && from! < position(2)).to.equal(true);
  });

  it('ends with the last event that is not too late', async () => {
    expect(await resolveRange(store, { to: '2026-03-01T01:00:00Z' })).to.deep.equal({ to: position(2) });
    expect(await resolveRange(store, { to: '2040-01-01T00:00:00Z' })).to.deep.equal({ to: position(3) });
  });

  it('names the end that it cannot read', async () => {
    expect(await refusal(resolveRange(store, { from: 'x' }))).to.contain('from: must be a time');
    expect(await refusal(resolveRange(store, { to: 'x' }))).to.contain('to: must be a time');
  });
});

describe('apiAt', () => {
  const document = (name: string) => apiDocument({ info: { name } });

  it('gives the document with the place of the last event', async () => {
    const store = await logOf(
      apiCreated({ document: document('one') }),
      certificateImported('a'),
      apiReplaced({ document: document('two') }),
      apiDeactivated(),
    );
    expect(await apiAt(store, org, orders, position(2))).to.deep.include({
      document: document('one'),
      kind: 'streams',
      revision: 0n,
      position: position(1),
      at: new Date(start),
    });
    expect(await apiAt(store, org, orders, position(4))).to.deep.include({
      document: document('two'),
      revision: 2n,
      position: position(4),
    });
  });

  const absent: readonly [name: string, orgId: string, apiId: string, place: string][] = [
    ['before its creation', org, 'orders', ''],
    ['while it was deleted', org, 'orders', position(2)],
    ['that never was', org, 'none', position(3)],
    ['of another organisation', 'others', 'orders', position(3)],
  ];
  for (const [name, orgId, apiId, place] of absent) {
    it(`knows no API ${name}`, async () => {
      const store = await logOf(apiCreated(), apiDeleted(), apiCreated());
      expect(await apiAt(store, toOrgId(orgId), toApiId(apiId), place)).to.equal(undefined);
    });
  }

  for (const flags of [14, 15, 16, 17, 40]) {
    it(`finds the document behind ${flags} flags`, async () => {
      const store = await logOf(
        apiCreated({ document: document('one') }),
        apiReplaced({ document: document('two') }),
        ...Array.from({ length: flags }, () => apiActivated()),
      );
      const then = await apiAt(store, org, orders, position(flags + 2));
      expect(then).to.deep.include({ revision: BigInt(flags + 1), document: document('two') });
    });
  }

  it('answers at every place what was true when it was the newest', async () => {
    const anEvent = fc
      .nat(3)
      .chain((n) =>
        fc.constantFrom(
          apiCreated({ document: document(`${n}`) }),
          apiReplaced({ document: document(`${n}`) }),
          apiActivated(),
          apiDeleted(),
          apiCreated({ id: 'other' }),
        ),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(anEvent, { minLength: 1, maxLength: 20 }), async (events) => {
        const store = await logOf(...events);
        for (let place = 1; place <= events.length; place++) {
          const own = events.slice(0, place).filter(({ apiId }) => apiId === orders);
          const state = fold(api, own);
          const then = await apiAt(store, org, orders, position(place));
          expect(then?.document).to.deep.equal(state.exists ? state.document : undefined);
          if (then) expect(then.revision).to.equal(BigInt(own.length - 1));
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('apiAtRevision', () => {
  it('gives the state of a revision, and nothing for one that is not there', async () => {
    const store = await logOf(apiCreated(), apiReplaced({ document: apiDocument({ info: { name: 'two' } }) }));
    expect(await apiAtRevision(store, org, orders, 0n)).to.deep.include({ document: apiDocument(), revision: 0n });
    expect(await apiAtRevision(store, org, orders, 2n)).to.equal(undefined);
  });
});
