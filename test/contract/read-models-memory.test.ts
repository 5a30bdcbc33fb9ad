/** Runs the read model contract against SQLite in memory. */
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { type ModelsUnderTest, readModelsContract } from './read-models.ts';
import { generationsContract } from './read-models-generations.ts';

const open = async (): Promise<ModelsUnderTest> => {
  const models = openSqliteReadModels(':memory:');
  return { models, dispose: async () => models.close() };
};

readModelsContract('sqlite in memory', open);
generationsContract('sqlite in memory', open);
