/** What acts on the log by itself while management runs, on one node at a time: anchors, ends of certificates, events for webhooks, routes that a crash left claimed. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EventStore } from '../../domain/event-store.ts';
import type { OrgId } from '../../domain/ids.ts';
import { createLease, type Lease } from '../../domain/lease.ts';
import type { SharedCells } from '../../domain/shared-cells.ts';
import type { DocumentReader } from '../../projections/read-model-store.ts';
import type { Projector } from '../../projections/runner/projector.ts';
import type { Settings } from '../config/settings.ts';
import { createDeliveries } from '../management/fleet/deliveries.ts';
import { startCertificateExpiry } from '../management/reactors/certificate-expiry.ts';
import { startClaimSweeper } from '../management/reactors/claim-sweeper.ts';
import { startManagementEvents } from '../management/reactors/management-events.ts';
import { managementNode } from '../management/webhook-events/outbox.ts';
import type { Signer } from '../stores/integrity/anchor.ts';
import { anchorCopyTo } from '../stores/integrity/anchor-copy.ts';
import { startAnchorer } from '../stores/integrity/anchorer.ts';
import type { KeyRing } from '../stores/secrets/keyring.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { keyCommands } from './key-upkeep.ts';
import { outboxOpener } from './outbox.ts';

export type ReactorOptions = {
  readonly store: EventStore;
  readonly cells: SharedCells;
  readonly keyRing: KeyRing;
  readonly signer: Signer;
  readonly orgId: OrgId;
  /** `management.anchor_copy`. */
  readonly anchorCopy: string | undefined;
  readonly models: DocumentReader;
  readonly projector: Pick<Projector, 'waitFor' | 'caughtUp' | 'changed'>;
  /** The data folder: events on their way to webhooks stand in it. */
  readonly directory: string;
  /** Who hears of every event, and where webhooks may be. */
  readonly gateway: Pick<Settings['gateway'], 'eventHandlers' | 'templatesPath' | 'webhookAllowLinkLocal'>;
  /** `management.cert_expiry_days`. */
  readonly certExpiryDays: readonly number[];
  readonly metrics: Pick<Metrics, 'watchWebhookEvents'>;
  readonly now: () => Date;
  readonly log: ProcessLog;
};

/** Stopped by the stack. */
export function startReactors(options: ReactorOptions, stack: AsyncDisposableStack): void {
  const { store, cells, keyRing, signer, orgId, anchorCopy, models, projector, certExpiryDays, now, log } = options;
  // Of this start: a process that died does not hold a lease for the one after it.
  const owner = randomUUID();
  const anchorer = startAnchorer({
    ...{ store, cells, signer, orgId, owner, log },
    ...(anchorCopy === undefined ? {} : { copy: anchorCopyTo(anchorCopy) }),
  });
  stack.defer(() => anchorer.stop());
  const leaseOf = (key: string) => createLease({ cells, key, owner, now: () => now().getTime() });
  const commands = keyCommands(store, keyRing, now);
  const expiry = startCertificateExpiry({
    ...{ store, models, projector, commands, thresholds: certExpiryDays, now, log },
    lease: leaseOf('lease/certificate-expiry'),
  });
  stack.defer(() => expiry.stop());
  startTelling(options, leaseOf('lease/management-events'), stack);
  // Elsewhere a claim and the definition that needs it are one append.
  if (store.can.multiStream) return;
  const sweeper = startClaimSweeper({ store, commands, lease: leaseOf('lease/claims'), log, now });
  stack.defer(() => sweeper.stop());
}

/** Each node delivers what it has read; its outbox is opened when there is something for it. */
function startTelling(options: ReactorOptions, lease: Lease, stack: AsyncDisposableStack): void {
  const { store, cells, keyRing, models, projector, directory, gateway, metrics, log } = options;
  const outbox = join(directory, 'management', 'outbox');
  const events = startManagementEvents({
    ...{ cells, projector, lease, log, deliveries: createDeliveries(cells) },
    sources: { store, models, secrets: keyRing, handlers: gateway.eventHandlers },
    open: outboxOpener({
      ...{ directory: outbox, node: managementNode, allowLinkLocal: gateway.webhookAllowLinkLocal, log },
      ...{ templatesPath: gateway.templatesPath, readsAnew: true },
    }),
    hasOutbox: existsSync(outbox),
    redeliveredFile: join(directory, 'management', 'redelivered.json'),
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
  });
  stack.defer(() => events.stop());
  metrics.watchWebhookEvents(() => events.standing());
}
