/** Where a gateway gets its configuration: from the management plane of the same process, or over HTTP from another one. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Feed, GroupReload } from '../../gateway/feed/feed.ts';
import { createHttpFeed } from '../../gateway/feed/http-feed.ts';
import { type NodeKey, openNodeKey } from '../../gateway/feed/node-key.ts';
import { seedFrom } from '../../gateway/feed/seed.ts';
import type { SignedSnapshot } from '../../gateway/feed/signed.ts';
import { openTrust, type Trust } from '../../gateway/feed/trust.ts';
import type { Settings } from '../config/settings.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import { gatewayFolder, nodeIdOf } from './node-id.ts';

/** All but the feed are for what was signed and sealed by another process. */
export type Source = {
  readonly feed: Feed;
  readonly trust?: Trust;
  readonly nodeKey?: NodeKey;
  readonly seed?: () => Promise<SignedSnapshot>;
  /** Has every gateway of the group of this node asked to reload. */
  readonly reloadGroup: () => Promise<GroupReload>;
  /** Takes the node token and the authorities of management anew. Throws when they do not read. */
  readonly renewAccess?: (settings: Settings) => void;
};

/** Management in the same process. */
export type LocalSource = { readonly feed: Feed; reloadGroup(node: string): Promise<GroupReload> };

/** `local` is the feed of this process, when it runs management. Throws when there is neither that nor an address. */
export function openSource(
  settings: Settings,
  local: LocalSource | undefined,
  log: ProcessLog,
  stack: AsyncDisposableStack,
): Source {
  const { managementUrl, managementKeyFile, configSeed } = settings.gateway;
  if (managementUrl === undefined) {
    if (local) return { feed: local.feed, reloadGroup: () => local.reloadGroup(nodeIdOf(settings)) };
    throw new Error(
      '--role gateway without --role management needs gateway.management_url and gateway.node_token: where the configuration comes from',
    );
  }
  const directory = gatewayFolder(settings);
  const file = managementKeyFile ?? join(directory, 'management-key.pem');
  const trust = openTrust({ file, isGiven: managementKeyFile !== undefined, log });
  const nodeKey = openNodeKey(join(directory, 'node-key.pem'), nodeIdOf(settings), log);
  const feed = openHttpFeed(settings, managementUrl, { trust, nodeKey }, log);
  stack.defer(() => feed.close());
  const renewAccess = ({ gateway }: Settings): void => feed.renew(accessOf(gateway));
  const seed = configSeed === undefined ? {} : { seed: () => seedFrom(configSeed, trust) };
  const reloadGroup = (): Promise<GroupReload> => feed.reloadGroup(nodeIdOf(settings));
  return { feed, trust, nodeKey, renewAccess, reloadGroup, ...seed };
}

function openHttpFeed(
  { gateway }: Settings,
  url: string,
  keys: { readonly trust: Trust; readonly nodeKey: NodeKey },
  log: ProcessLog,
) {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
    log.warn('gateway.management_url is not https: token and configuration can be read on the way');
  }
  return createHttpFeed({ url, tags: gateway.tags.toSorted(), ...keys, ...accessOf(gateway) });
}

function accessOf({ nodeToken: token, managementCaFile }: Settings['gateway']) {
  if (token === undefined) {
    throw new Error(
      'gateway.management_url needs gateway.node_token: use $file:PATH, or the variable SVC_GW_NODETOKEN',
    );
  }
  return { token, ...(managementCaFile === undefined ? {} : { ca: readFileSync(managementCaFile, 'utf8') }) };
}
