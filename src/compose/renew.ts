/** What a reload takes anew of the settings of a gateway: its secrets, and what it believes of management. */
import type { GatewaySettings } from '../../gateway/settings.ts';
import type { Settings } from '../config/settings.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import type { Source } from './feed.ts';

/** The configuration as it reads now. `changed`: keys whose values are others than at the start. */
export type Reread = () => { readonly settings: Settings; readonly changed: readonly string[] };

const renewable: ReadonlySet<string> = new Set([
  ...['gateway.control_secret', 'gateway.node_token', 'gateway.management_ca_file'],
]);

/** Rejects, and changes nothing, when the configuration does not read. */
export const renewer =
  (reread: Reread, source: Pick<Source, 'renewAccess'>, log: Pick<ProcessLog, 'warn'>) =>
  async (): Promise<Pick<GatewaySettings, 'controlSecret'>> => {
    const { settings, changed } = reread();
    const { controlSecret } = settings.gateway;
    source.renewAccess?.(settings);
    const keys = changed.filter((key) => !renewable.has(key));
    if (keys.length > 0) log.warn('settings have changed that need a restart', { keys });
    return { controlSecret };
  };
