/** The key ring of an installation as its settings name it; whoever runs and whoever operates it opens it here. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { KeyRing, MasterKeys } from '../stores/secrets/keyring.ts';
import { givenMasterKeys, masterKeyFile } from '../stores/secrets/master-key.ts';
import { openKeyRing } from '../stores/secrets/sqlite-keyring.ts';

type RingSettings = Pick<Settings, 'dataDirectory' | 'store'>;

export const ringFile = ({ dataDirectory }: RingSettings): string => join(dataDirectory, 'keyring.db');

/** Whether a start has made the ring. */
export const hasRing = (settings: RingSettings): boolean => existsSync(ringFile(settings));

export const masterKeysOf = ({ store: { secrets } }: RingSettings): MasterKeys =>
  secrets.masterKeys.length > 0 ? givenMasterKeys(secrets.masterKeys) : masterKeyFile(secrets.masterKeyFile);

export const openRingOf = (
  settings: RingSettings,
  warn: (text: string) => void,
  path = ringFile(settings),
): Promise<KeyRing> => openKeyRing({ path, masters: masterKeysOf(settings), warn });
