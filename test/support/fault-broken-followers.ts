/** Histories that break one of the invariants 5 to 10 alone: readers, consumers, folds, proofs, backups, gateways. */
import { padPosition } from '../../domain/event-store.ts';
import { apiIndex, at, callOf, changed, changedLog, node, type Row, withRestore } from './fault-break.ts';
import { emptyHistory, type GatewaySample, type History, type Outcome } from './fault-history.ts';
import { firstOf, logOf } from './fault-sound.ts';

export const brokenFollowers: readonly Row[] = [
  [
    5,
    'a reader did not see an event',
    /saw 3 .* where 2 .* stands/,
    (sound) =>
      changed(sound, 'pages', 0, ({ events }: History['pages'][number]) => ({
        events: events.filter((_, index) => index !== 1),
      })),
  ],
  [
    5,
    'a reader saw what is not there',
    /saw 90 \(gwnode-z\), which is not there/,
    (sound) =>
      changed(sound, 'pages', 0, ({ events }: History['pages'][number]) => ({
        events: [...events, { ...at(events, 0), position: padPosition('90'), stream: 'gwnode-z' }],
      })),
  ],
  [
    5,
    'a reader jumped',
    /had come to 14 before/,
    (sound) => ({
      ...sound,
      history: { ...sound.history, pages: sound.history.pages.filter((_, index) => index !== 2) },
    }),
  ],
  [
    5,
    'a reader went beyond the end',
    /went beyond the end of the log/,
    (sound) => changed(sound, 'pages', sound.history.pages.length - 1, () => ({ next: padPosition('9000') })),
  ],
  [
    6,
    'a consumer had an event twice',
    /all saw 1 .* where 5 .* stands/,
    (sound) =>
      changed(sound, 'consumers', 0, ({ batches }: History['consumers'][number]) => ({
        batches: [at(batches, 0), at(batches, 0), ...batches.slice(1)],
      })),
  ],
  [
    6,
    'a consumer never had an event',
    /nodes did not see|nodes saw/,
    (sound) =>
      changed(sound, 'consumers', 1, ({ batches }: History['consumers'][number]) => ({ batches: batches.slice(1) })),
  ],
  [
    6,
    'a checkpoint went back',
    /the checkpoint of all went back to 1/,
    (sound) =>
      changed(sound, 'consumers', 0, ({ batches }: History['consumers'][number]) => ({
        batches: [...batches, { events: [], checkpoint: padPosition('1') }],
      })),
  ],
  [
    7,
    'a projection missed an event',
    /counts at 9 is/,
    (sound) => changed(sound, 'folds', 1, () => ({ state: at(sound.history.folds, 0).state })),
  ],
  [
    7,
    'a gateway runs an older object than its position says',
    /gateway 0.0 at \d+ is/,
    (sound) => changed(sound, 'gateways', 2, () => ({ objects: at(sound.history.gateways, 1).objects })),
  ],
  [
    8,
    'an event was changed',
    /the chain of api-1 breaks at revision \d+: changed/,
    (sound) => changedLog(sound, apiIndex(sound.finalLog), { type: 'Other' }),
  ],
  [
    8,
    'an anchor covers what is not there',
    /covers other events than the log has there/,
    (sound) => {
      // The last event of a stream goes with nobody to tell but the anchor.
      const { events } = sound.finalLog;
      const index = events.findLastIndex(({ stream }, place) => stream === 'api-1' && place < 25);
      const kept = events.filter((one, place) => place < index || one.stream !== 'api-1');
      return { history: emptyHistory, finalLog: logOf(sound.finalLog, kept) };
    },
  ],
  [
    9,
    'the era did not change',
    /it became era 0/,
    (sound) => withRestore(sound, { finalLog: firstOf(sound.finalLog, 10) }),
  ],
  [
    9,
    'an event of the backup is another one',
    /is not what the log that it was taken of has there/,
    (sound) => {
      const first = firstOf(sound.finalLog, 10);
      const index = first.events.findIndex(({ stream }) => stream.startsWith('gwnode-'));
      const swapped = first.events.map((one, place) => (place === index ? { ...one, id: 'other' } : one));
      const restored = logOf(first, swapped);
      return withRestore(sound, { startUs: 0, restored, finalLog: { ...restored, era: 1 } });
    },
  ],
  [
    9,
    'an acknowledged event is not in the backup',
    /backup 1: append command-\d+ of node 0.0 was acknowledged/,
    (sound) => withRestore(sound, { startUs: 1_000 }),
  ],
  [
    9,
    'what is written afterwards breaks a promise',
    /afterwards: .* is not in the log/,
    (sound) => {
      const done: Outcome = { kind: 'done', position: padPosition('11'), heads: { 'gwnode-z': 0 }, duplicate: false };
      return withRestore(sound, {
        history: { ...emptyHistory, calls: [callOf('gwnode-z', [node(11, 0)], { outcome: done })] },
      });
    },
  ],
  [
    10,
    'a gateway went back',
    /position 9 to 3/,
    (sound) => {
      const gateways = sound.history.gateways.slice(0, 2).toReversed();
      return { ...sound, history: { ...sound.history, gateways } };
    },
  ],
  [
    10,
    'a gateway took an earlier era',
    /from era 1 to 0/,
    (sound) => changed(sound, 'gateways', 1, ({ era }: GatewaySample) => ({ era: era + 1 })),
  ],
];
