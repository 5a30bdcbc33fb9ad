/** The gateway role: its node id, its lane in the record log, and the gateway itself. */
import { join } from 'node:path';
import type { OpenSecrets } from '../../gateway/feed/vault.ts';
import { type Gateway, startGateway } from '../../gateway/gateway.ts';
import type { Settings } from '../config/settings.ts';
import type { EmbeddedRecordLog } from '../stores/records/embedded-record-log.ts';
import { memoryCache } from '../stores/runtime/memory-cache.ts';
import { memoryCounters } from '../stores/runtime/memory-counters.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import { localUrl } from './addresses.ts';
import type { Source } from './feed.ts';
import { createLateCheckApi } from './late-check.ts';
import { gatewayFolder, nodeIdOf } from './node-id.ts';
import { outboxOpener } from './outbox.ts';
import { type Reread, renewer } from './renew.ts';
import { rulesOf } from './rules-of.ts';

export type GatewayRole = { readonly url: string; readonly controlUrl: string };

type Surroundings = {
  readonly source: Source;
  readonly records: EmbeddedRecordLog;
  readonly log: ProcessLog;
  readonly version: string;
  /** Present where management runs too, and with it the key ring. */
  readonly openSecrets?: OpenSecrets | undefined;
  readonly stack: AsyncDisposableStack;
  /** Absent where the settings come from no file and no environment. */
  readonly reread?: Reread | undefined;
};

export async function startGatewayRole(settings: Settings, surroundings: Surroundings): Promise<GatewayRole> {
  const { source, records, log, version, openSecrets, stack, reread } = surroundings;
  const {
    listen,
    controlListen,
    gracefulShutdownTimeoutMs,
    cacheBytes: maxBytes,
    nodeId: _,
    ...rest
  } = settings.gateway;
  const directory = gatewayFolder(settings);
  const node = nodeIdOf(settings);
  const lane = await records.openLane(node);
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const { enabled: analytics, frame, bufferBytes, recording } = settings.analytics;
  const gateway: Gateway = await startGateway({
    ...source,
    ...{ lane, log, clock, node, directory, listen, controlListen, openSecrets },
    ...createLateCheckApi(),
    rules: rulesOf(version),
    counters: memoryCounters(clock),
    cache: memoryCache({ maxBytes, ...clock }),
    openOutbox: outboxOpener({
      directory: join(directory, 'outbox'),
      node,
      allowLinkLocal: settings.gateway.webhookAllowLinkLocal,
      templatesPath: settings.gateway.templatesPath,
      log,
    }),
    metrics: lateMetrics(version, () => gateway),
    settings: { ...rest, version, analytics, frame, bufferBytes, recording },
    ...(reread ? { renew: renewer(reread, source, log) } : {}),
  });
  stack.defer(() => gateway.stop(gracefulShutdownTimeoutMs));
  return { url: localUrl(gateway.address), controlUrl: localUrl(gateway.controlAddress) };
}

/** A gateway that nobody scrapes loads nothing for it. Those of a process begin with the first scrape. */
function lateMetrics(version: string, gateway: () => Gateway): () => Promise<{ type: string; text: string }> {
  const open = async () => {
    const { createMetrics } = await import('../telemetry/metrics.ts');
    const metrics = createMetrics({ version });
    metrics.watchGateway(() => gateway().facts());
    metrics.watchWebhookEvents(() => gateway().facts().events);
    metrics.watchCache(() => gateway().kept.standing());
    return metrics;
  };
  let opened: ReturnType<typeof open> | undefined;
  return async () => {
    opened ??= open();
    return (await opened).text();
  };
}
