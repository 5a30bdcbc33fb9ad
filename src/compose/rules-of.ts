/** Names the rules on API definitions that this code holds, so that a gateway knows whether what it kept has passed them. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** Where they stand; of the files beside the first folder only those that judge. */
const places = ['domain/api', 'domain', 'gateway'] as const;
const judges = /^(?:json-schema|check-|expressions)/;

/** Beside the version the newest change of their files: whoever works on the code changes rules without a new version. */
export function rulesOf(version: string, folder = root): string {
  const files = places.flatMap((place, index) => filesIn(join(folder, place), index === 0));
  const newestMs = Math.max(...files.map((file) => statSync(file).mtimeMs));
  return `${version} ${process.version} ${files.length} ${newestMs}`;
}

const filesIn = (folder: string, isWhole: boolean): readonly string[] =>
  readdirSync(folder, { recursive: isWhole, withFileTypes: true })
    .filter((entry) => entry.isFile() && (isWhole || judges.test(entry.name)))
    .map(({ parentPath, name }) => join(parentPath, name));
