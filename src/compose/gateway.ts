/** The gateway role: its node id, its lane in the record log, and the gateway itself. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCheckApi } from '../../gateway/check-api.ts';
import type { OpenSecrets } from '../../gateway/feed/vault.ts';
import { startGateway } from '../../gateway/gateway.ts';
import type { Settings } from '../config/settings.ts';
import type { EmbeddedRecordLog } from '../stores/records/embedded-record-log.ts';
import { memoryCounters } from '../stores/runtime/memory-counters.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import { localUrl } from './addresses.ts';
import type { Source } from './feed.ts';
import { outboxOpener } from './outbox.ts';
import { type Reread, renewer } from './renew.ts';

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
  const { listen, controlListen, gracefulShutdownTimeoutMs, nodeId, ...rest } = settings.gateway;
  const directory = join(settings.dataDirectory, 'gateway');
  mkdirSync(directory, { recursive: true });
  const node = nodeId ?? keptNodeId(directory);
  const lane = await records.openLane(node);
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const { enabled: analytics, frame, bufferBytes } = settings.analytics;
  const gateway = await startGateway({
    ...source,
    ...{ lane, log, clock, node, directory, listen, controlListen, openSecrets },
    checkApi: createCheckApi(),
    counters: memoryCounters(clock),
    openOutbox: outboxOpener({
      directory: join(directory, 'outbox'),
      node,
      allowLinkLocal: settings.gateway.webhookAllowLinkLocal,
      log,
    }),
    settings: { ...rest, version, analytics, frame, bufferBytes },
    ...(reread ? { renew: renewer(reread, source, log) } : {}),
  });
  stack.defer(() => gateway.stop(gracefulShutdownTimeoutMs));
  return { url: localUrl(gateway.address), controlUrl: localUrl(gateway.controlAddress) };
}

/** The name under which this node's records stand in the log; it stays the same across starts. */
function keptNodeId(directory: string): string {
  const file = join(directory, 'node-id');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const node = `node-${randomBytes(4).toString('hex')}`;
  writeFileSync(file, `${node}\n`, { flag: 'wx' });
  return node;
}
