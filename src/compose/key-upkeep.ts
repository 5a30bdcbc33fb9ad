/** What looks after the key ring while management runs, and the commands with which an operator does the same by hand. */
import type { EventStore } from '../../domain/event-store.ts';
import { type Commands, createCommands } from '../management/handle-command.ts';
import { type KeptRing, sealerOf } from '../management/held-secrets.ts';
import { createPersonalData } from '../management/personal-data.ts';
import { type KeyKeeper, startKeyKeeper } from '../management/reactors/key-keeper.ts';
import { startRetention } from '../management/reactors/personal-data-retention.ts';
import type { KeyRing } from '../stores/secrets/keyring.ts';
import type { ProcessLog } from '../telemetry/log.ts';

export type UpkeepOptions = {
  readonly store: EventStore;
  readonly keyRing: KeyRing;
  /** `store.personal_data_months`. */
  readonly months: number;
  readonly now: () => Date;
  readonly log: ProcessLog;
};

/** Stopped by the stack, before what is deferred already. */
export function startKeyUpkeep(
  { store, keyRing, months, now, log }: UpkeepOptions,
  stack: AsyncDisposableStack,
): Pick<KeyKeeper, 'health'> {
  const ring = keptRing(keyRing);
  const keeper = startKeyKeeper({ store, ring, commands: keyCommands(store, keyRing, now), log });
  stack.defer(() => keeper.stop());
  const retention = startRetention({ ring, months, now, log });
  stack.defer(() => retention.stop());
  return keeper;
}

const keptRing = (keyRing: KeyRing): KeptRing => ({
  has: (kid) => keyRing.has(kid),
  shred: (kid) => keyRing.shred(kid),
  kids: async () => (await keyRing.status()).kids.map(({ kid }) => kid),
});

/** Commands that nobody waits for to be readable. */
export function keyCommands(store: EventStore, keyRing: KeyRing, now: () => Date): Commands {
  const seal = sealerOf(keyRing);
  const personal = createPersonalData(seal, keyRing);
  return createCommands({ store, seal, personal, now, settled: async () => {} });
}
