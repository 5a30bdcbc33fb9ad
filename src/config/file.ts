/** Reads a configuration file, JSON or YAML, into a tree that remembers on which line each key stands. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { jsonFault } from '../../domain/json-fault.ts';
import { ConfigurationError } from './errors.ts';
import { isTree, type Tree } from './tree.ts';

/** Most processes have no file, and the parser is a tenth of a gateway's start. */
const yaml = (): typeof Yaml => createRequire(import.meta.url)('yaml');

export type ConfigFile = { readonly path: string; readonly tree: Tree; readonly lines: ReadonlyMap<string, number> };

export function readConfigFile(path: string): ConfigFile {
  return parseConfigFile(path, readText(path));
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason =
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : `cannot be read: ${String(error)}`;
    throw new ConfigurationError([`The configuration file ${path} ${reason}.`]);
  }
}

/** YAML contains JSON, so that one parser gives both their lines; strict JSON syntax is judged by the platform. */
function parseConfigFile(path: string, text: string): ConfigFile {
  const isJson = path.endsWith('.json');
  if (isJson) checkJson(path, text);
  const { LineCounter, parseDocument } = yaml();
  const counter = new LineCounter();
  // Tabs indent JSON and mean nothing there, but a YAML reader refuses them.
  const document = parseDocument(isJson ? text.replaceAll('\t', ' ') : text, { lineCounter: counter });
  const fault = document.errors[0];
  if (fault)
    throw new ConfigurationError([`${path}:${counter.linePos(fault.pos[0]).line}: ${fault.message.split('\n')[0]}`]);
  const tree: unknown = asPlain(path, document) ?? {};
  if (!isTree(tree))
    throw new ConfigurationError([`${path}: must hold one object with sections, not ${typeName(tree)}.`]);
  return { path, tree, lines: new Map(linesOf(document.contents, [], counter)) };
}

function asPlain(path: string, document: Yaml.Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new ConfigurationError([`${path}: ${(error as Error).message}`]);
  }
}

function checkJson(path: string, text: string): void {
  try {
    JSON.parse(text);
  } catch {
    const { reason, line, column } = jsonFault(text);
    throw new ConfigurationError([`${path}:${line}:${column}: not JSON: ${reason}`]);
  }
}

function linesOf(
  node: unknown,
  path: readonly string[],
  counter: Yaml.LineCounter,
): readonly (readonly [string, number])[] {
  const { isMap, isScalar } = yaml();
  if (!isMap(node)) return [];
  return node.items.flatMap(({ key, value }) => {
    if (!isScalar(key) || !key.range) return [];
    const here = [...path, String(key.value)];
    const line: readonly [string, number] = [here.join('.'), counter.linePos(key.range[0]).line];
    return [line, ...linesOf(value, here, counter)];
  });
}

const typeName = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : value === null ? 'nothing' : typeof value;
