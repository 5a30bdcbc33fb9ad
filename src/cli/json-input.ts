/** Reads one document for a command: from a file, the standard input or an address, JSON or YAML. */
import { readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import type { Json, JsonObject } from '../../domain/event.ts';
import { isObject } from '../../domain/json.ts';
import { jsonFault } from '../../domain/json-fault.ts';
import { UsageError } from './failure.ts';
import type { Terminal } from './terminal.ts';

/** Throws a usage error that names the file. */
export const readObject = (terminal: Terminal, file: string): JsonObject => parsed(readInput(terminal, file), file);

/** The first line of a file that holds a secret. */
export const readSecret = (terminal: Terminal, file: string): string => {
  const [line = ''] = readInput(terminal, file).split('\n');
  return line.trim();
};

export const readInput = (terminal: Terminal, file: string): string => readBytes(terminal, file).toString('utf8');

export function readBytes(terminal: Terminal, file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : resolve(terminal.workingDirectory, file));
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
}

/** Throws a usage error that says where the text breaks. */
export function parseJson(text: string, from: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    const { reason, line, column } = jsonFault(text);
    throw new UsageError(`${from}:${line}:${column}: not JSON: ${reason}`);
  }
}

const maxAliases = 100;

/** What does not say that it is JSON is read as YAML, which JSON is too. */
export function parsed(text: string, from: string): JsonObject {
  if (extname(from) === '.json') return objectIn(parseJson(text, from), from);
  const document = parseDocument(text, { version: '1.2', uniqueKeys: true });
  const [fault] = document.errors;
  if (fault) throw new UsageError(`${from}: ${fault.message}`);
  let value: unknown;
  try {
    value = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: maxAliases }) ?? null));
  } catch (error) {
    throw new UsageError(`${from}: ${(error as Error).message}`);
  }
  return objectIn(value as Json, from);
}

function objectIn(value: Json, from: string): JsonObject {
  if (isObject(value)) return value;
  throw new UsageError(`${from} holds no object`);
}
