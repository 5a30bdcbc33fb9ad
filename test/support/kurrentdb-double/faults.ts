/** What a test can make go wrong, and the two moments at which a call meets it: when it arrives and when it is answered. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { exception, notLeader } from './errors.ts';
import type { Member } from './gossip.ts';
import type { Line } from './line.ts';

/** Every member can be set at any time; a count goes down by one each time the fault happens. */
export type Faults = {
  /** Every call waits this long before it is handled. */
  delayMs: number;
  /** Calls are accepted and never answered, and nothing is written: none, those that write, or all. */
  silent: 'none' | 'writes' | 'all';
  /** So many writes commit, then their connection breaks instead of an answer. */
  lostAnswers: number;
  /** So many writes lose their connection before anything is written. */
  lostRequests: number;
  /** Every write is refused by naming this leader. */
  notLeader: { readonly host: string; readonly port: number } | undefined;
  /** Every call is refused with this exception of the server, for example `access-denied`. */
  refuse: string | undefined;
  /** The server does not know the call by which it tells what it can do. */
  hidesFeatures: boolean;
  /** Reads and subscriptions lose their connection after so many events. */
  breakReadsAfter: number | undefined;
  /** Subscriptions deliver every event twice. */
  duplicates: boolean;
  /** Subscriptions say that they caught up, and not where. */
  caughtUpWithoutPosition: boolean;
  /** A live subscription that is more than so many events behind falls behind and catches up again. */
  liveEvents: number;
};

export const noFaults = (): Faults => ({
  delayMs: 0,
  silent: 'none',
  lostAnswers: 0,
  lostRequests: 0,
  notLeader: undefined,
  refuse: undefined,
  hidesFeatures: false,
  breakReadsAfter: undefined,
  duplicates: false,
  caughtUpWithoutPosition: false,
  liveEvents: 500,
});

/** Long enough for bytes to pass from one socket of this process to another. */
const deliveryMs = 20;

/** A call as the faults see it. */
export type Call = { readonly metadata: Metadata; getPeer(): string };

export class FaultyGate {
  readonly #faults: Faults;
  readonly #line: Line;
  readonly #members: () => readonly Member[];

  constructor(faults: Faults, line: Line, members: () => readonly Member[]) {
    this.#faults = faults;
    this.#line = line;
    this.#members = members;
  }

  get faults(): Faults {
    return this.#faults;
  }

  /** Runs the handler, or lets the call meet its fault. */
  async admit(call: Call, kind: 'read' | 'write', handle: (refusal?: ServiceError) => void): Promise<void> {
    const faults = this.#faults;
    if (faults.delayMs > 0) await wait(faults.delayMs);
    if (faults.silent === 'all' || (faults.silent === 'writes' && kind === 'write')) return;
    if (faults.refuse) return handle(exception(refusalCode(faults.refuse), faults.refuse, `refused: ${faults.refuse}`));
    const leader = kind === 'write' && faults.notLeader ? faults.notLeader : this.#otherLeader(call);
    if (leader) return handle(notLeader(leader));
    if (kind === 'write' && faults.lostRequests > 0) {
      faults.lostRequests -= 1;
      return this.break(call);
    }
    handle();
  }

  /** A follower passes calls on, unless the caller insists on the leader itself. */
  #otherLeader(call: Call): { readonly host: string; readonly port: number } | undefined {
    if (call.metadata.get('requires-leader')[0] !== 'true') return undefined;
    const leader = this.#members().find(({ state }) => state === 'leader');
    return leader && leader.port !== this.#line.port ? { host: '127.0.0.1', port: leader.port } : undefined;
  }

  /** Sends the answer of a write that was committed, or loses it. */
  settle(call: Call, answer: () => void): void {
    if (this.#faults.lostAnswers === 0) answer();
    else {
      this.#faults.lostAnswers -= 1;
      this.break(call);
    }
  }

  /** Breaks the connection of a read in its middle, once the reader had time to take what was written. */
  async breakAfterDelivery(call: Call): Promise<void> {
    await wait(deliveryMs);
    this.break(call);
  }

  /** Breaks the connection on which the call came. */
  break(call: Call): void {
    this.#line.break(call.getPeer());
  }
}

const refusalCode = (name: string): status =>
  name === 'access-denied' ? status.PERMISSION_DENIED : status.FAILED_PRECONDITION;
