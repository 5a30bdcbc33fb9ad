/** Runs the read model contract against SQLite files. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { type ModelsUnderTest, readModelsContract } from './read-models.ts';
import { generationsContract } from './read-models-generations.ts';

const open = async (): Promise<ModelsUnderTest> => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-models-'));
  const models = openSqliteReadModels(join(folder, 'readmodels.db'));
  const dispose = async (): Promise<void> => {
    models.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { models, dispose };
};

readModelsContract('sqlite', open);
generationsContract('sqlite', open);
