/** The key ring of an installation as its settings name it; whoever runs and whoever operates it opens it here. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { KeyRing, MasterKeys } from '../stores/secrets/keyring.ts';
import { givenMasterKeys, masterKeyFile } from '../stores/secrets/master-key.ts';
import { openPostgresKeyRing } from '../stores/secrets/postgres-keyring.ts';
import { openKeyRing } from '../stores/secrets/sqlite-keyring.ts';

type RingSettings = Pick<Settings, 'dataDirectory' | 'store'>;

export const ringFile = ({ dataDirectory }: RingSettings): string => join(dataDirectory, 'keyring.db');

/** Nodes that share a log in PostgreSQL share the ring there. */
export const isRingShared = ({ store }: { readonly store: { readonly url: string } }): boolean =>
  /^postgres(?:ql)?:/i.test(store.url);

/** Whether a start has made a ring in the data folder. */
export const hasRing = (settings: RingSettings): boolean => existsSync(ringFile(settings));

export const masterKeysOf = ({ store: { secrets } }: RingSettings): MasterKeys =>
  secrets.masterKeys.length > 0 ? givenMasterKeys(secrets.masterKeys) : masterKeyFile(secrets.masterKeyFile);

/** With a path: that file, wherever the ring is. */
export function openRingOf(settings: RingSettings, warn: (text: string) => void, path?: string): Promise<KeyRing> {
  const masters = masterKeysOf(settings);
  if (path === undefined && isRingShared(settings)) return openPostgresKeyRing({ url: settings.store.url, masters });
  return openKeyRing({ path: path ?? ringFile(settings), masters, warn });
}
