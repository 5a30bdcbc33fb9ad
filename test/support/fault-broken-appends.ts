/** Histories that break one of the invariants 1 to 4 alone: appends, revisions, answers, order. */
import { padPosition, type StoredEvent } from '../../domain/event-store.ts';
import { again, at, bare, callOf, changed, conflict, node, type Row, withCalls } from './fault-break.ts';
import type { AppendCall, Outcome } from './fault-history.ts';

export const brokenAppends: readonly Row[] = [
  [
    1,
    'an acknowledged event is not in the log',
    /was acknowledged, and lost is not in the log/,
    (sound) =>
      withCalls(
        sound,
        callOf('gwnode-z', [node(90, 0, { id: 'lost' })], {
          outcome: { kind: 'done', position: padPosition('90'), heads: { 'gwnode-z': 0 }, duplicate: false },
        }),
      ),
  ],
  [
    1,
    'an acknowledged event stands elsewhere',
    /stands elsewhere/,
    (sound) =>
      changed(sound, 'calls', 0, ({ outcome }: AppendCall) => ({
        outcome: { ...outcome, position: padPosition('2') },
      })),
  ],
  [
    1,
    'a reader was told of a head from before an acknowledged append',
    /is the head when/,
    (sound) => changed(sound, 'pages', 0, () => ({ atHead: true })),
  ],
  [
    2,
    'a revision is missing',
    /gwnode-z has revision 2 where 1 belongs/,
    (sound) => bare(sound, node(1, 0), node(2, 2)),
  ],
  [
    2,
    'a revision is there twice',
    /gwnode-z has revision 0 where 1 belongs/,
    (sound) => bare(sound, node(1, 0), node(2, 0)),
  ],
  [
    2,
    'an event is there twice',
    /is in the log twice/,
    (sound) => bare(sound, node(1, 0, { id: 'same' }), node(2, 1, { id: 'same' })),
  ],
  [
    2,
    'a stream reads otherwise than the global order',
    /reads otherwise alone/,
    (sound) => {
      const found = bare(sound, node(1, 0), node(2, 1));
      return { ...found, finalLog: { ...found.finalLog, streams: new Map([['gwnode-z', [node(1, 0)]]]) } };
    },
  ],
  [
    3,
    'a conflict was answered and the event is there',
    /was answered with a conflict on api-\d, and its events are in the log/,
    (sound) => {
      const call = at(sound.history.calls, 0);
      const { stream } = at(call.writes, 0);
      return withCalls(sound, again(call, conflict(stream, 1)));
    },
  ],
  [
    3,
    'a refusal was answered and the event is there',
    /was refused \(StoreFull\), and its events are in the log/,
    (sound) => {
      const one = node(1, 0);
      const found = bare(sound, one);
      return withCalls(found, callOf('gwnode-z', [one], { outcome: { kind: 'refused', code: 'StoreFull' } }));
    },
  ],
  [
    3,
    'half of an append with an unknown outcome is there',
    /is half in the log: 1 of 2 events/,
    (sound) => {
      const one = node(1, 0);
      return withCalls(bare(sound, one), callOf('gwnode-z', [one, node(2, 1)]));
    },
  ],
  [
    3,
    'another append stands between the events of one',
    /does not stand in one piece/,
    (sound) => {
      const events = [node(1, 0), node(2, 1), node(3, 2)] as const;
      return withCalls(bare(sound, ...events), callOf('gwnode-z', [events[0], events[2]]));
    },
  ],
  [
    3,
    'an event is there although the stream had gone beyond',
    /expected 0 of gwnode-z and was written when it stood at 1/,
    (sound) => {
      const events = [node(1, 0), node(2, 1), node(3, 2)] as const;
      const writes = [{ stream: 'gwnode-z', expected: 0, ids: [events[2].id] }];
      return withCalls(bare(sound, ...events), callOf('gwnode-z', [], { writes }));
    },
  ],
  [
    3,
    'a check did not hold',
    /expected noStream of gwnode-y and was written when it stood at 0/,
    (sound) => {
      const events = [node(1, 0, { stream: 'gwnode-y' }), node(2, 0)] as const;
      const writes = [
        { stream: 'gwnode-y', expected: 'noStream' as const, ids: [] },
        { stream: 'gwnode-z', expected: 'any' as const, ids: [events[1].id] },
      ];
      return withCalls(bare(sound, ...events), callOf('', [], { writes }));
    },
  ],
  [
    3,
    'a conflict names what is no conflict',
    /which is no conflict/,
    (sound) => withCalls(sound, callOf('api-0', [node(90, 0)], { outcome: conflict('api-0', 2) })),
  ],
  [
    3,
    'a conflict names what never was',
    /which it never did/,
    (sound) =>
      withCalls(
        sound,
        callOf('api-0', [], {
          writes: [{ stream: 'api-0', expected: 'noStream', ids: ['x'] }],
          outcome: conflict('api-0', 99),
        }),
      ),
  ],
  [
    3,
    'a conflict is of long ago',
    /a later event had been acknowledged before it asked/,
    (sound) =>
      withCalls(
        sound,
        callOf('api-0', [], {
          startUs: 5_000,
          endUs: 5_001,
          writes: [{ stream: 'api-0', expected: 7, ids: ['x'] }],
          outcome: conflict('api-0', 0),
        }),
      ),
  ],
  [
    4,
    'a later revision stands before an earlier one',
    /comes after revision 1/,
    (sound) => bare(sound, node(1, 1), node(2, 0)),
  ],
  [
    4,
    'a position comes twice',
    /1 \(gwnode-y, revision 0\) comes after 1/,
    (sound) => bare(sound, node(1, 0), node(1, 0, { stream: 'gwnode-y' })),
  ],
  [
    4,
    'time goes back',
    /was stored before the event that it follows/,
    (sound) => bare(sound, node(1, 0), node(2, 1, { at: new Date(8_999) })),
  ],
  [
    4,
    'an append stands before one that had been acknowledged',
    /stands at 1 and began when 2 was acknowledged/,
    (sound) => {
      const [late, early] = [node(1, 0), node(2, 0, { stream: 'gwnode-y' })];
      const done = (one: StoredEvent): Outcome => ({
        kind: 'done',
        position: one.position,
        heads: { [one.stream]: 0 },
        duplicate: false,
      });
      return withCalls(
        bare(sound, late, early),
        callOf('gwnode-y', [early], { commandId: 'early', outcome: done(early) }),
        callOf('gwnode-z', [late], { startUs: 3, endUs: 4, commandId: 'late', outcome: done(late) }),
      );
    },
  ],
];
