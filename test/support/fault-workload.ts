/** What the processes of a fault checker's run append: every expectation, right and wrong, on streams that they fight for. */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import type { EventStore } from '../../domain/event-store.ts';
import type { AskedWrite, Outcome } from './fault-history.ts';
import type { Random } from './fault-random.ts';
import { type AskedAppend, type Recorder, recordedAppend } from './fault-recorder.ts';

export type Workload = {
  readonly store: EventStore;
  readonly recorder: Recorder;
  readonly random: Random;
  /** Streams whose appends say which revision they follow, and those where `any` is allowed. */
  readonly strict: readonly string[];
  readonly loose: readonly string[];
  /** How the names of streams begin that all try to create. */
  readonly created: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Sometimes called; the clock of the process goes elsewhere. */
  readonly jumpClock: () => void;
  /** Appends of earlier lives, which may be repeated. */
  readonly past: readonly AskedAppend[];
  /** Told after each answer how many events are new. */
  readonly onAnswer: (events: number) => void;
};

type Maker = (workload: Workload) => Promise<readonly AskedWrite[]>;

/** How often an append with an unknown outcome is repeated before it is given up. */
const maxRepeats = 5;
const maxPast = 200;

export async function runWorkload(workload: Workload): Promise<void> {
  const { random, signal, jumpClock } = workload;
  let past = workload.past;
  while (!signal.aborted) {
    // A store in memory answers at once, and others have to get on too.
    await turn();
    if (random.chance(0.03)) jumpClock();
    const asked = await made(workload, past);
    if (asked === undefined) {
      // The store did not say where its streams stand: it is away for a moment.
      await pause(20, undefined, { signal }).catch(() => undefined);
      continue;
    }
    past = [...past.slice(-maxPast), asked];
    const isTwice = random.chance(0.03);
    const answers = await Promise.all([untilKnown(workload, asked), ...(isTwice ? [untilKnown(workload, asked)] : [])]);
    const isNew = answers.some((outcome) => outcome.kind === 'done' && !outcome.duplicate);
    workload.onAnswer(isNew ? asked.writes.reduce((sum, { ids }) => sum + ids.length, 0) : 0);
  }
}

async function untilKnown(workload: Workload, asked: AskedAppend): Promise<Outcome> {
  const { random, signal, timeoutMs } = workload;
  for (let attempt = 0; ; attempt++) {
    const outcome = await recordedAppend(workload, asked, random.chance(0.02) ? 1 : timeoutMs);
    const isAway = outcome.kind === 'unknown' || (outcome.kind === 'refused' && outcome.code === 'StoreUnavailable');
    if (!isAway || attempt === maxRepeats || signal.aborted || random.chance(0.1)) return outcome;
    await pause(attempt * 20, undefined, { signal }).catch(() => undefined);
  }
}

async function made(workload: Workload, past: readonly AskedAppend[]): Promise<AskedAppend | undefined> {
  const { random, store, loose } = workload;
  if (past.length > 0 && random.chance(0.1)) return random.pick(past);
  const maker = random.weighted<Maker>([
    [10, following],
    [3, creating],
    [3, elsewhere],
    ...(loose.length > 0 ? ([[3, whatever]] as const) : []),
    ...(store.can.multiStream ? ([[3, several]] as const) : []),
    ...(store.can.multiStream && store.can.checks ? ([[2, checking]] as const) : []),
  ]);
  const writes = await maker(workload).catch(() => undefined);
  return writes && { commandId: random.uuid(), writes };
}

const idsFor = ({ random }: Workload, most = 3): readonly string[] =>
  Array.from({ length: 1 + random.below(most) }, () => random.uuid());

async function headOf({ store }: Workload, stream: string): Promise<number | undefined> {
  const [last] = await store.readStream(stream, { back: true, limit: 1 });
  return last && Number(last.revision);
}

/** The stream as it stands now; somebody else may be faster. */
async function follow(workload: Workload, stream: string, ids: readonly string[]): Promise<AskedWrite> {
  return { stream, expected: (await headOf(workload, stream)) ?? 'noStream', ids };
}

const following: Maker = async (workload) => [
  await follow(workload, workload.random.pick(workload.strict), idsFor(workload)),
];

/** All processes create the same streams. */
const creating: Maker = async (workload) => {
  const { random, strict, created } = workload;
  const stream = random.chance(0.1) ? random.pick(strict) : `${created}${random.below(200)}`;
  return [{ stream, expected: 'noStream', ids: idsFor(workload) }];
};

/** A revision at which the stream is not, a little before or behind. */
const elsewhere: Maker = async (workload) => {
  const { random, strict } = workload;
  const stream = random.pick(strict);
  const head = (await headOf(workload, stream)) ?? -1;
  return [{ stream, expected: Math.max(0, head + random.pick([-2, -1, 1, 2])), ids: idsFor(workload) }];
};

const whatever: Maker = async (workload) => {
  const { random, loose } = workload;
  return [
    {
      stream: random.pick(loose),
      expected: random.weighted([
        [4, 'any'],
        [1, 'streamExists'],
      ]),
      ids: idsFor(workload),
    },
  ];
};

/** Two or three streams at once; sometimes one of them is not where it is expected. */
const several: Maker = async (workload) => {
  const { random, strict } = workload;
  const streams = [...new Set([random.pick(strict), random.pick(strict), random.pick(strict)])];
  const writes = await Promise.all(streams.map((stream) => follow(workload, stream, idsFor(workload, 2))));
  if (random.chance(0.7)) return writes;
  const [wrong, ...others] = writes.toReversed();
  return wrong ? [...others, { ...wrong, expected: 1_000_000 }] : writes;
};

/** One write and a check of another stream, which has to stay where it was. */
const checking: Maker = async (workload) => {
  const { random, strict } = workload;
  const [written, checked] = [random.pick(strict), random.pick(strict)];
  const writes = [await follow(workload, written, idsFor(workload))];
  if (written === checked) return writes;
  return [await follow(workload, checked, []), ...writes];
};
