/** Several processes on one event log: races have one winner, and a kill takes nothing that was acknowledged. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { expect } from 'chai';
import type { Context } from 'mocha';
import type { EventStore } from '../../domain/event-store.ts';
import { usingLog } from '../support/event-store-current.ts';
import { append, event, readWholeLog, write } from '../support/event-store-events.ts';
import { Follower } from '../support/event-store-follower.ts';
import { openTemporaryLog } from '../support/event-store-sqlite-log.ts';
import { openPostgresTestLog } from '../support/postgres-log.ts';
import { needsPostgres } from '../support/postgres-server.ts';

const script = new URL('../support/event-store-process.ts', import.meta.url).pathname;

type Child = { readonly process: ChildProcessByStdio<Writable, Readable, null>; readonly lines: AsyncIterator<string> };

function start(address: string, ...args: readonly string[]): Child {
  const env = { ...process.env, SVC_TEST_LOG: address };
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'], env });
  return { process: child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
}

const nextLine = async ({ lines }: Child): Promise<string> => String((await lines.next()).value);

type LogOfProcesses = {
  readonly address: string;
  readonly store: EventStore;
  readonly openAgain: () => Promise<EventStore>;
  readonly dispose: () => Promise<void>;
};

type Engine = {
  readonly name: string;
  readonly open: () => Promise<LogOfProcesses>;
  readonly needs?: (context: Context) => void;
};

const engines: readonly Engine[] = [
  {
    name: 'SQLite',
    open: async () => {
      const { path, ...log } = await openTemporaryLog();
      return { ...log, address: path };
    },
  },
  {
    name: 'PostgreSQL',
    needs: needsPostgres,
    open: async () => {
      const { url, ...log } = await openPostgresTestLog();
      return { ...log, address: url };
    },
  },
];

for (const { name, open, needs } of engines) {
  describe(`several processes on one event log: ${name}`, function () {
    this.timeout(60_000);
    before(function () {
      needs?.(this);
    });
    const log = usingLog(open);

    it('create race: exactly one of 4 times 50 concurrent creates of one id wins', async () => {
      const { store, address } = log();
      const children = Array.from({ length: 4 }, () => start(address, 'race', 'api-one', '50'));
      for (const child of children) expect(await nextLine(child)).to.equal('ready');
      for (const { process } of children) process.stdin.write('go\n');
      const results = await Promise.all(children.map(nextLine));
      const sum = (index: number): number => results.reduce((total, line) => total + Number(line.split(' ')[index]), 0);
      expect({ won: sum(0), conflicts: sum(1) }).to.deep.equal({ won: 1, conflicts: 199 });
      expect(await store.readStream('api-one', { limit: 1_000 })).to.have.lengthOf(1);
      await Promise.all(children.map(({ process }) => process.exitCode ?? once(process, 'exit')));
    });

    it('a subscription here sees every event that processes there append, once and in order', async () => {
      const { store, address } = log();
      await using follower = new Follower(store);
      const children = [start(address, 'append', '2'), start(address, 'append', '2')];
      await follower.until(() => follower.events.length >= 400);
      for (const { process } of children) process.kill('SIGKILL');
      await Promise.all(children.map(({ process }) => once(process, 'exit')));
      await append(store, [write('after-kill', 'any', event())]);
      const whole = await readWholeLog(store);
      await follower.until(() => follower.events.length >= whole.length);
      expect(follower.events.map(({ position }) => position)).to.deep.equal(whole.map(({ position }) => position));
      expectWithoutHoles(whole);
    });

    it('12 kills at random moments take nothing that was acknowledged and leave no hole', async () => {
      const { address, openAgain, store: first } = log();
      await first.close();
      const acknowledged = new Map<string, string>();
      for (let kill = 1; kill <= 12; kill++) {
        const lines = await appendAndKill(address, Math.ceil(Math.random() * 60));
        for (const line of lines) noteAcknowledged(line, acknowledged);

        const store = await openAgain();
        // First, because it waits for what a server may still be doing for the process that is gone.
        const { position } = await append(store, [write('after-kill', 'any', event())]);
        const whole = await readWholeLog(store);
        const stored = new Map(whole.map(({ id, stream, revision }) => [id, `${stream} ${revision}`]));
        for (const [id, place] of acknowledged) expect(stored.get(id), `after kill ${kill}`).to.equal(place);
        expectWithoutHoles(whole);
        expect(position).to.equal(String(whole.length).padStart(20, '0'));
        await store.close();
      }
      expect(acknowledged.size).to.be.above(12);
    });
  });
}

/** Kills the process when it has acknowledged so many appends; it goes on meanwhile, so the moment is any. */
async function appendAndKill(address: string, afterLines: number): Promise<readonly string[]> {
  const child = start(address, 'append', '5');
  const exited = once(child.process, 'exit');
  const lines: string[] = [];
  while (lines.length < afterLines) lines.push(await nextLine(child));
  child.process.kill('SIGKILL');
  for (;;) {
    const { value, done } = await child.lines.next();
    if (done) break;
    lines.push(value);
  }
  await exited;
  return lines;
}

/** A line names stream, its head, and the ids of the events that end there; a line cut off by the kill names fewer. */
function noteAcknowledged(line: string, acknowledged: Map<string, string>): void {
  const [stream, head, ...ids] = line.split(' ');
  if (ids.length !== 2 || ids[1]?.length !== 36) return;
  for (const [index, id] of ids.entries()) acknowledged.set(id, `${stream} ${Number(head) - 1 + index}`);
}

/** Positions 1, 2, 3 … in the log, revisions 0, 1, 2 … in each stream, and appends of two events never half. */
function expectWithoutHoles(whole: Awaited<ReturnType<typeof readWholeLog>>): void {
  const next = new Map<string, bigint>();
  for (const [index, { stream, revision, position }] of whole.entries()) {
    expect(Number(position)).to.equal(index + 1);
    expect(revision, stream).to.equal(next.get(stream) ?? 0n);
    next.set(stream, revision + 1n);
  }
  for (const [stream, count] of next) if (stream.startsWith('thing-')) expect(Number(count) % 2, stream).to.equal(0);
}
