/** Names the rules on API definitions that this code holds, so that a gateway knows whether what it kept has passed them. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const rulesFolder = join(import.meta.dirname, '..', '..', 'domain', 'api');

/** Beside the version the newest change of their files: whoever works on the code changes rules without a new version. */
export function rulesOf(version: string, folder = rulesFolder): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const newestMs = Math.max(...files.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs));
  return `${version} ${process.version} ${files.length} ${newestMs}`;
}
