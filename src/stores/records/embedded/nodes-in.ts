/** Whose records an embedded log has. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { nodeDatabaseExists } from './node-database.ts';

/** Folders of nodes; a folder without a book is not one yet. */
export const nodesIn = (directory: string): readonly string[] =>
  existsSync(directory)
    ? readdirSync(directory, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && nodeDatabaseExists(join(directory, entry.name)))
        .map(({ name }) => name)
        .sort()
    : [];
