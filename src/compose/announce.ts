/** What a start prints for people: where everything listens, the admin token when it is new, and commands to try. */
import type { Settings } from '../config/settings.ts';
import type { AdminToken } from './first-start.ts';

/** URLs of what listens, by role. */
export type Addresses = Readonly<Partial<Record<'gateway' | 'management' | 'control' | 'pump' | 'upstream', string>>>;

export type Started = {
  readonly settings: Settings;
  readonly addresses: Addresses;
  readonly version: string;
  /** Where the log is; undefined without management. */
  readonly revision: string | undefined;
  /** The sample API and where it is served now. */
  readonly sample: { readonly id: string; readonly listenPath: string } | undefined;
  readonly adminToken: AdminToken | undefined;
};

const roles = ['gateway', 'management', 'control', 'pump', 'upstream'] as const;

/** The last line is `ready`. */
export function announceStart(announce: (line: string) => void, started: Started): void {
  const { settings, addresses, version, revision, adminToken } = started;
  // Who runs no management has no store.
  const store = revision === undefined ? '' : `   store ${storeName(settings.store.url)}   position ${revision}`;
  announce(`svc ${version}${store}`);
  for (const role of roles) {
    const address = addresses[role];
    if (address !== undefined) announce(`  ${role.padEnd(11)} ${address.replace(/\/$/, '')}`);
  }
  if (adminToken?.isNew) {
    announce('');
    announce(`admin token, printed this once and kept in ${adminToken.file}:`);
    announce(`  ${adminToken.token}`);
  }
  for (const line of trial(started)) announce(line);
  announce('ready');
}

/** An address of another engine may hold a password. */
const storeName = (url: string): string => (/^(sqlite|memory):/.test(url) ? url : url.slice(0, url.indexOf(':') + 1));

const document = '{"openapi":"3.0.3","info":{"title":"Demo","version":"1.0.0"},"paths":{}}';

/** Three commands that work as printed, whichever path the sample API is at. */
function trial({ addresses: { gateway, management }, sample, adminToken }: Started): readonly string[] {
  if (!sample || !gateway || !management || !adminToken) return [];
  const now = sample.listenPath.endsWith('/') ? sample.listenPath : `${sample.listenPath}/`;
  const next = now === '/orders/' ? '/demo/' : '/orders/';
  const bearer = adminToken.file ? `$(cat '${adminToken.file}')` : '$SVC_TOKEN';
  return [
    '',
    'try:',
    `  curl ${gateway}${now}`,
    `  curl -X PATCH '${management}/api/apis/streams/${sample.id}?listenPath=${next}&authentication=false' -H "Authorization: Bearer ${bearer}" -H 'Content-Type: application/vnd.svc.streams.oas' -d '${document}'`,
    `  curl ${gateway}${next}`,
    '',
  ];
}
