/** Reads declarative files: objects out of files and folders, JSON or YAML, each with the place where it was written. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { LineCounter, parseAllDocuments, parseDocument } from 'yaml';
import { gatewayExtension, streamingExtension } from '../../domain/api/definition.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import { isObject, textAt } from '../../domain/json.ts';
import { UsageError } from './failure.ts';
import { parseJson } from './json-input.ts';
import type { Terminal } from './terminal.ts';

export type Declared = {
  /** As a set holds it. What has no right form is left as it is: the judge of objects names what is wrong. */
  readonly object: Json;
  readonly file: string;
  /** Line and column of the value at a pointer into the object, or of the nearest one above it that the file has. */
  readonly locate: (pointer: string) => { readonly line: number; readonly column: number };
};

const extensions: readonly string[] = ['.json', '.yaml', '.yml'];

/** A folder stands for all of its files, in the order of their names. `-` is the standard input. */
function declaredAt(terminal: Terminal, paths: readonly string[]): readonly Declared[] {
  if (paths.length === 0) throw new UsageError('name a file or a folder with the objects, or - for the standard input');
  return paths.flatMap((path) => filesAt(terminal, path)).flatMap(({ file, text }) => objectsIn(file, text));
}

/** The objects of a set. One without any does something only when it prunes; else the folder is the wrong one. */
export function readSet(
  terminal: Terminal,
  paths: readonly string[],
  { prune }: { readonly prune?: boolean } = {},
): readonly Declared[] {
  const declared = declaredAt(terminal, paths);
  if (declared.length > 0 || prune) return declared;
  const hold = paths.length === 1 ? 'holds' : 'hold';
  throw new UsageError(`${paths.join(', ')} ${hold} no objects; read are files that end in ${extensions.join(', ')}`);
}

type Source = { readonly file: string; readonly text: string };

function filesAt(terminal: Terminal, path: string): readonly Source[] {
  if (path === '-') return [{ file: '-', text: readText(0, '-') }];
  const place = resolve(terminal.workingDirectory, path);
  return foundAt(place, path).map(({ at, file }) => ({ file, text: readText(at, file) }));
}

type Found = { readonly at: string; readonly file: string };

function foundAt(at: string, file: string): readonly Found[] {
  let isFolder: boolean;
  try {
    isFolder = lstatSync(at).isDirectory();
  } catch (error) {
    throw unreadable(file, error);
  }
  if (!isFolder) return [{ at, file }];
  return readdirSync(at, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.') && (entry.isDirectory() || extensions.includes(extname(entry.name))))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name }) => foundAt(join(at, name), join(file, name)));
}

function readText(at: string | number, file: string): string {
  try {
    return readFileSync(at, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

const unreadable = (file: string, error: unknown): UsageError =>
  new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`);

/** One document of a file: a list, an object with the list `objects`, one object, or an OpenAPI document by itself. */
function objectsIn(file: string, text: string): readonly Declared[] {
  return documentsOf(file, text).flatMap(({ value, index }) => {
    const at = (steps: readonly string[]) => locator(text, index, steps);
    if (Array.isArray(value)) {
      return value.map((object: Json, place): Declared => ({ object, file, locate: at([String(place)]) }));
    }
    const list = isObject(value) ? value['objects'] : undefined;
    if (Array.isArray(list)) {
      return list.map((object: Json, place): Declared => ({ object, file, locate: at(['objects', String(place)]) }));
    }
    if (isObject(value) && isBareApi(value)) {
      const locate = at([]);
      return [{ object: bareApi(file, value), file, locate: (pointer) => locate(pointer.replace(/^\/document/, '')) }];
    }
    return [{ object: value, file, locate: at([]) }];
  });
}

/** An OpenAPI document, or a Classic definition. */
const isBareApi = ({ kind, openapi, proxy }: JsonObject): boolean =>
  kind === undefined && (openapi !== undefined || isObject(proxy));

/** What has streams is a streams API; the id is that of the document, else the name of the file. */
function bareApi(file: string, document: JsonObject): JsonObject {
  const name = basename(file, extname(file));
  if (document['openapi'] === undefined) {
    return { kind: 'api', id: textAt(document, 'api_id') || name, apiKind: 'classic', document };
  }
  const id = textAt(document, gatewayExtension, 'info', 'id') || name;
  return { kind: 'api', id, apiKind: document[streamingExtension] === undefined ? 'oas' : 'streams', document };
}

type Parsed = { readonly value: Json; readonly index: number };

/** Aliases are bounded: a small file must not become a large set. */
const maxAliases = 100;

function documentsOf(file: string, text: string): readonly Parsed[] {
  if (extname(file) === '.json') return [{ value: parseJson(text, file), index: 0 }];
  const documents = parseAllDocuments(text, { version: '1.2', uniqueKeys: true });
  return [...documents].flatMap((document, index) => {
    const [fault] = document.errors;
    if (fault) throw new UsageError(`${file}: ${fault.message}`);
    const value = plain(file, () => document.toJS({ maxAliasCount: maxAliases }) as unknown);
    // Between two separators, or after the last one, may be nothing.
    return value === null ? [] : [{ value, index }];
  });
}

/** YAML knows more than JSON: dates, and keys that are no text. */
function plain(file: string, make: () => unknown): Json {
  try {
    return JSON.parse(JSON.stringify(make() ?? null)) as Json;
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`);
  }
}

/** The text is read again with its places only when somebody asks for one. */
function locator(text: string, index: number, before: readonly string[]): Declared['locate'] {
  return function locate(pointer) {
    const lines = new LineCounter();
    const document =
      parseAllDocuments(text, { lineCounter: lines })[index] ?? parseDocument(text, { lineCounter: lines });
    const inside = pointer
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    const steps = [...before, ...inside];
    for (let length = steps.length; length >= 0; length--) {
      const node = document.getIn(steps.slice(0, length).map(indexOrName), true) as
        | { readonly range?: readonly number[] | null }
        | undefined;
      const start = node?.range?.[0];
      if (start === undefined) continue;
      const { line, col } = lines.linePos(start);
      return { line, column: col };
    }
    return { line: 1, column: 1 };
  };
}

const indexOrName = (step: string): string | number => (/^(0|[1-9]\d*)$/.test(step) ? Number(step) : step);

/** `shop.yaml:12:3`. */
export function placeOf({ file, locate }: Declared, pointer: string): string {
  const { line, column } = locate(pointer);
  return `${file}:${line}:${column}`;
}

/** For people: `api orders`. */
export const shownName = ({ object }: Declared): string =>
  isObject(object) ? `${textAt(object, 'kind') ?? 'object'} ${textAt(object, 'id') ?? ''}`.trim() : 'object';
