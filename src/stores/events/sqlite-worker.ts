/** The one thread that touches the SQLite event log, so that no fsync stops the HTTP loop. Started by `sqlite-event-store.ts`. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { EventStoreError, type Position } from '../../../domain/event-store.ts';
import { appendGroup, retain } from './sqlite-append.ts';
import { listCells, readCell, removeCell, writeCell } from './sqlite-cells.ts';
import { toMessage, toStoreError } from './sqlite-errors.ts';
import { SqliteLog, type SqliteLogOptions } from './sqlite-log.ts';
import type { Calls, Reply, Request } from './sqlite-protocol.ts';

/** Larger groups would make the first of them wait for little gain. */
const maxGroup = 256;
/** Between two looks for commits of other processes: short after a find, longer while nothing happens. */
const minPollMs = 5;
const maxPollMs = 100;

type AppendCall = Extract<Request, { readonly call: 'append' }>;
type OtherCall = Exclude<Request, AppendCall>;

class LogThread {
  readonly #port: MessagePort;
  readonly #log: SqliteLog;
  #queue: AppendCall[] = [];
  /** A write failed and none has succeeded since. */
  #isSuspect = false;
  #version: number;
  #poll: NodeJS.Timeout | undefined;

  constructor(port: MessagePort, log: SqliteLog) {
    this.#port = port;
    this.#log = log;
    this.#version = log.dataVersion();
    port.on('message', (request: Request) => this.#take(request));
  }

  #say(reply: Reply): void {
    this.#port.postMessage(reply);
  }

  /** Appends that arrive while others are written wait for each other and share the next commit. */
  #take(request: Request): void {
    if (request.call === 'append') {
      if (this.#queue.push(request) === 1) setImmediate(() => this.#flush());
      return;
    }
    if (request.call === 'close') this.#flush();
    try {
      const value = this.#answer(request);
      this.#port.postMessage({ type: 'answer', id: request.id, value } satisfies Reply, payloadsOf(value));
    } catch (error) {
      this.#say({ type: 'failure', id: request.id, error: toMessage(toStoreError(error, 'other')) });
    }
    if (request.call === 'close') this.#port.close();
  }

  #flush(): void {
    while (this.#queue.length > 0) {
      const group = this.#queue.slice(0, maxGroup);
      this.#queue = this.#queue.slice(maxGroup);
      const outcomes = appendGroup(
        this.#log.database,
        group.map(({ args: [writes, options, nowMs] }) => ({ writes, options, nowMs })),
      );
      for (const [index, { id }] of group.entries()) {
        const outcome = outcomes[index];
        if (outcome instanceof EventStoreError) this.#say({ type: 'failure', id, error: toMessage(outcome) });
        else this.#say({ type: 'answer', id, value: outcome });
      }
      const hasWritten = outcomes.some((outcome) => !(outcome instanceof EventStoreError));
      this.#isSuspect = !hasWritten && (this.#isSuspect || outcomes.some(isFault));
    }
  }

  #answer({ call, args }: OtherCall): ReturnType<Calls[OtherCall['call']]> {
    const log = this.#log;
    switch (call) {
      case 'readStream':
        return log.readStream(...args);
      case 'readAll':
        return log.readAll(...args);
      case 'positionAt':
        return log.positionAt(...args);
      case 'command':
        return log.command(...args);
      case 'retain':
        return retain(log.database, ...args);
      case 'forgetResponses':
        return log.forgetResponses(...args);
      case 'readCell':
        return readCell(log.database, ...args);
      case 'writeCell':
        return writeCell(log.database, ...args);
      case 'listCells':
        return listCells(log.database, ...args);
      case 'removeCell':
        return removeCell(log.database, ...args);
      case 'bumpEra':
        return log.bumpEra();
      case 'head':
        return log.head();
      case 'health':
        return this.#health();
      case 'watch':
        return this.#watch(...args);
      case 'close':
        this.#watch(false);
        return log.close();
    }
  }

  #health(): ReturnType<Calls['health']> {
    const health = this.#log.health(this.#isSuspect);
    this.#isSuspect &&= !health.writable;
    return health;
  }

  #watch(isOn: boolean): void {
    clearTimeout(this.#poll);
    if (isOn) this.#look(minPollMs);
  }

  #look(waitMs: number): void {
    const head = this.#grownTo();
    if (head !== undefined) this.#say({ type: 'grown', head });
    const nextMs = head === undefined ? Math.min(maxPollMs, waitMs * 1.5) : minPollMs;
    this.#poll = setTimeout(() => this.#look(nextMs), waitMs);
  }

  /** The version is the one of the last look, however long ago, so nothing that happened between is missed. */
  #grownTo(): Position | undefined {
    try {
      const version = this.#log.dataVersion();
      if (version === this.#version) return undefined;
      const head = this.#log.head();
      this.#version = version;
      return head;
    } catch {
      // Nobody waits for an answer here: whoever reads hears of what ails the file, and the next look may find it well.
      return undefined;
    }
  }
}

/** Payloads of events move to the other thread, nothing is copied. */
function payloadsOf(value: ReturnType<Calls[OtherCall['call']]>): readonly ArrayBuffer[] {
  if (typeof value !== 'object') return [];
  const packed = 'packed' in value ? value.packed : value;
  return 'payloads' in packed ? [packed.payloads.buffer] : [];
}

const isFault = (outcome: unknown): boolean => outcome instanceof EventStoreError && isFaultCode(outcome);

const isFaultCode = ({ code }: EventStoreError): boolean =>
  code === 'StoreFull' || code === 'StoreReadOnly' || code === 'StoreUnavailable' || code === 'UnknownOutcome';

function serve(port: MessagePort, options: SqliteLogOptions): void {
  const warnings: string[] = [];
  try {
    const log = new SqliteLog({ ...options, warn: (text) => warnings.push(text) });
    new LogThread(port, log);
    port.postMessage({ type: 'opened', identity: log.identity, warnings } satisfies Reply);
  } catch (error) {
    port.postMessage({ type: 'refused', error: toMessage(toStoreError(error, 'other')) } satisfies Reply);
    port.close();
  }
}

if (parentPort) serve(parentPort, workerData as SqliteLogOptions);
