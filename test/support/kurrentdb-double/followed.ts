/** A subscription of the official client as a list of words: what it said, in the order in which it said it. */
import type { AllStreamSubscription, Position, StreamSubscription } from '@kurrent/kurrentdb-client';
import { eventually } from '../eventually.ts';

export type Followed = {
  /** `confirmed`, `A@3` for an event's type and revision, `caught up`, `fell behind`, `error unavailable`. */
  readonly notes: readonly string[];
  readonly caughtUpAt: readonly { readonly position?: Position; readonly revision?: bigint }[];
  /** Waits until as many notes are there, and gives them. */
  until(count: number): Promise<readonly string[]>;
};

export function follow(subscription: AllStreamSubscription | StreamSubscription): Followed {
  const notes: string[] = [];
  const caughtUpAt: { position?: Position; revision?: bigint }[] = [];
  // The two kinds of subscriptions declare the same events in types that do not combine.
  (subscription as AllStreamSubscription)
    .on('confirmation', () => void notes.push('confirmed'))
    .on('data', ({ event }) => void notes.push(`${event?.type}@${event?.revision}`))
    .on('caughtUp', (info) => {
      notes.push('caught up');
      caughtUpAt.push(info);
    })
    .on('fellBehind', () => void notes.push('fell behind'))
    .on('error', (error: Error & { readonly type?: string }) => void notes.push(`error ${error.type}`));
  const until = async (count: number): Promise<readonly string[]> => {
    await eventually(() => notes.length >= count);
    return notes;
  };
  return { notes, caughtUpAt, until };
}
