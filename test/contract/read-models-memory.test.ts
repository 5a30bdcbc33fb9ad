/** Runs the read model contract against SQLite in memory. */
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { readModelsContract } from './read-models.ts';

readModelsContract('sqlite in memory', async () => {
  const models = openSqliteReadModels(':memory:');
  return { models, dispose: async () => models.close() };
});
