/** Several processes on the same read models: one folds, the others stand by, and a late commit of one that slept is refused. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { expect } from 'chai';
import type { EventStore } from '../../domain/event-store.ts';
import { openSqliteEventStore } from '../../src/stores/events/sqlite-event-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { openDatabase } from '../../src/stores/sqlite.ts';
import { eventually } from '../support/eventually.ts';
import { apiActivated, apiCreated, appendEvents } from '../support/given.ts';
import { temporaryFolder } from '../support/temporary.ts';

const script = new URL('../support/projector-process.ts', import.meta.url).pathname;
/** Longer than the test: a lease is free because its owner died, or because this is short. */
const forEverMs = 600_000;
const shortMs = 600;

class Child implements AsyncDisposable {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  #line = '';

  constructor(log: string, readModels: string, leaseMs: number) {
    this.process = spawn(process.execPath, [script, log, readModels, String(leaseMs)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface(this.process.stdout).on('line', (line) => {
      this.#line = line;
    });
  }

  get state(): string {
    return this.#line.split(' ')[0] ?? '';
  }

  get position(): number {
    return Number(this.#line.split(' ')[1]);
  }

  async kill(): Promise<void> {
    const exited = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGCONT');
    const exited = once(this.process, 'exit');
    this.process.stdin.write('stop\n');
    await exited;
  }
}

const appendMany = async (store: EventStore, count: number): Promise<void> => {
  for (let event = 0; event < count; event++) await appendEvents(store, apiActivated());
};

const folder = temporaryFolder('svc-projections-');
const path = folder.file('readmodels.db');

/** Whoever sleeps inside a transaction keeps the file locked for all; that is not what is asked here. */
const stopBetweenTransactions = (child: Child): Promise<unknown> =>
  eventually(() => {
    child.process.kill('SIGSTOP');
    using database = openDatabase(path, { busyTimeoutMs: 0 });
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
      return true;
    } catch (error) {
      child.process.kill('SIGCONT');
      throw error;
    }
  });

describe('several processes on the same read models', function () {
  this.timeout(60_000);
  let store: EventStore;
  const start = (leaseMs: number): Child => new Child(folder.file('events.db'), path, leaseMs);
  const counted = (): unknown => {
    using models = openSqliteReadModels(path);
    return models.get('counts', 'api-orders')?.body;
  };

  const owners = (): readonly string[] =>
    readdirSync(folder.path).filter((name) => name.includes('-owner-') && !name.endsWith('-journal'));

  before(async () => {
    store = await openSqliteEventStore({ path: folder.file('events.db') });
    await appendEvents(store, apiCreated());
  });
  after(async () => {
    await store.close();
    folder[Symbol.dispose]();
  });

  it('one of them folds; when it is killed another one goes on, and no event counts twice', async () => {
    await using first = start(forEverMs);
    await eventually(() => first.state === 'live');
    await using second = start(forEverMs);
    await eventually(() => second.state === 'standby');
    await appendMany(store, 50);
    await eventually(() => first.position === 51 && second.position === 51);
    const appending = appendMany(store, 200);
    await first.kill();
    await appending;
    await eventually(() => second.state === 'live' && second.position === 251);
    expect(counted()).to.equal(251);
    expect(owners(), 'what the dead one left is removed').to.have.length(1);
  });

  it('one that was stopped finds another one in its place, and its late commit is refused', async () => {
    await using first = start(shortMs);
    await eventually(() => first.state === 'live');
    await using second = start(shortMs);
    await eventually(() => second.state === 'standby');
    const appending = appendMany(store, 100);
    await stopBetweenTransactions(first);
    await appending;
    await eventually(() => second.state === 'live' && second.position === 351);
    first.process.kill('SIGCONT');
    await appendMany(store, 20);
    await eventually(() => first.state === 'standby' && first.position === 371 && second.position === 371);
    expect(second.state).to.equal('live');
    expect(counted()).to.equal(371);
  });
});
