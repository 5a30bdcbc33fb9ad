/** Runs the read model contract against SQLite files. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { readModelsContract } from './read-models.ts';

readModelsContract('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-models-'));
  const models = openSqliteReadModels(join(folder, 'readmodels.db'));
  const dispose = async (): Promise<void> => {
    models.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { models, dispose };
});
