/** What becomes of what a sink will never take: kept as dead letters, dropped and counted, or a reason to stop. */
import type { ConsumerId, Cursor, Delivery, RecordLog } from '../domain/record-log.ts';
import type { Rejected } from './retry.ts';
import type { OnReject } from './sink-config.ts';

/** Thrown with `on_reject: stop`: the pipeline ends and nothing of the batch is committed. */
export class StoppedByRejection extends Error {
  constructor(reason: string) {
    super(`stopped because a record was refused: ${reason}`);
    this.name = 'StoppedByRejection';
  }
}

/** Must have ended before the batch is committed. A letter that comes again after a restart replaces itself. */
export async function handleRejected(
  log: RecordLog,
  consumer: ConsumerId,
  rejected: readonly (Rejected & { readonly cursor: Cursor })[],
  onReject: OnReject,
): Promise<void> {
  for (const { record, reason, attempts, cursor } of rejected) {
    if (onReject === 'stop') throw new StoppedByRejection(reason);
    if (onReject === 'dlq') await log.deadLetter(consumer, { cursor, reason, attempts, at: Date.now(), record });
  }
}

/** A frame that cannot be decoded is kept as it is, whatever the sink says about records. */
export async function keepBadFrame(log: RecordLog, consumer: ConsumerId, delivery: Delivery): Promise<void> {
  if (!('bad' in delivery)) return;
  const { cursor, bad } = delivery;
  await log.deadLetter(consumer, { cursor, reason: bad.reason, attempts: 1, at: Date.now(), bytes: bad.bytes });
}
