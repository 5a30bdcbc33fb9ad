/** Reads YAML text from outside as the JSON that it means: core schema, no tags, few aliases; says where it breaks without repeating it. */
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { bodyMalformed, type Refusal } from '../../../domain/errors.ts';
import type { Json } from '../../../domain/event.ts';
import { Rejection } from '../errors.ts';
import { refuseUnsafe } from './json-text.ts';

/** Loaded with the first such body: a start does not wait for it. */
const yaml = (): typeof Yaml => createRequire(import.meta.url)('yaml');

const maxAliases = 100;

/** The parser needs seconds for more, in which nobody else is served. */
const maxCharacters = 1024 * 1024;

/** Aliases repeat what they name; what comes out is no larger than a body may be. */
const maxExpandedCharacters = 4 * 1024 * 1024;

/** Further to the right the parser takes the whole process down. */
const maxIndent = 1_000;

/** Throws the refusal `body_malformed` with line and column, or 413. */
export function parseYaml(text: string): Json {
  if (text.length > maxCharacters) throw new Rejection('body_too_large', `body larger than ${maxCharacters} bytes`);
  refuseFarIndent(text);
  const lines = new (yaml().LineCounter)();
  const document = parsed(text, lines);
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) throw faultAt(faultTexts[fault.code] ?? 'the YAML does not parse', fault.pos[0], lines);
  refuseNodes(document, lines);
  const value = expanded(document);
  if (isLargerThan(value, maxExpandedCharacters)) throw bodyMalformed('aliases make the document too large');
  refuseUnsafe(value);
  return value;
}

function refuseFarIndent(text: string): void {
  for (const [line, content] of text.split('\n').entries()) {
    const indent = content.search(/[^ ?:\-\t]/);
    if ((indent < 0 ? content.length : indent) <= maxIndent) continue;
    throw bodyMalformed(`the indentation does not fit at line ${line + 1}, column ${maxIndent + 1}`);
  }
}

function parsed(text: string, lineCounter: Yaml.LineCounter): Yaml.Document.Parsed {
  try {
    return yaml().parseDocument(text, {
      ...{ lineCounter, prettyErrors: false, schema: 'core', version: '1.2', strict: true },
      // Names that stand twice are looked for below: the parser takes quadratic time for it.
      ...{ resolveKnownTags: false, merge: false, uniqueKeys: false },
    });
  } catch {
    throw bodyMalformed('the YAML is too deep');
  }
}

/** What people read; the parser's own texts may repeat what stands there. */
const faultTexts: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'an alias that does not read',
  BAD_INDENT: 'the indentation does not fit',
  BAD_SCALAR_START: 'a value that starts with a reserved character',
  BLOCK_AS_IMPLICIT_KEY: 'a block where a name must stand',
  BLOCK_IN_FLOW: 'a block inside brackets',
  MISSING_CHAR: 'a character is missing',
  MULTIPLE_DOCS: 'a second document',
  RESOURCE_EXHAUSTION: 'too many levels',
  TAB_AS_INDENT: 'a tab in the indentation',
  TAG_RESOLVE_FAILED: 'a tag, which is not allowed',
};

function faultAt(reason: string, offset: number, lines: Yaml.LineCounter): Refusal {
  const { line, col } = lines.linePos(offset);
  return bodyMalformed(`${reason} at line ${line}, column ${col}`);
}

/** What YAML can say and JSON cannot, and what would be ambiguous. */
function refuseNodes(document: Yaml.Document.Parsed, lines: Yaml.LineCounter): void {
  let aliases = 0;
  const { visit, isAlias, isMap, isScalar } = yaml();
  visit(document, (_, node) => {
    // A document of white space alone is nothing at all.
    if (node === null) return;
    const offset = (node as { readonly range?: readonly number[] | null }).range?.[0] ?? 0;
    if (isAlias(node) && ++aliases > maxAliases) throw faultAt(`more than ${maxAliases} aliases`, offset, lines);
    // Core tags such as !!str are known to every parser, and refused with the others.
    if ((node as { readonly tag?: string }).tag !== undefined)
      throw faultAt('a tag, which is not allowed', offset, lines);
    if (!isMap(node)) return;
    const names = new Set<string>();
    for (const { key } of node.items) {
      const place = (key as { readonly range?: readonly number[] | null } | null)?.range?.[0] ?? offset;
      if (!isScalar(key)) throw faultAt('a name that is no text', place, lines);
      const name = String(key.value);
      if (names.has(name)) throw faultAt('a name that stands there already', place, lines);
      names.add(name);
    }
  });
}

function expanded(document: Yaml.Document.Parsed): Json {
  try {
    return document.toJS({ maxAliasCount: maxAliases }) as Json;
  } catch {
    throw bodyMalformed('an alias without its anchor, or aliases of aliases beyond measure');
  }
}

/** Stops counting at the limit. */
function isLargerThan(root: Json, limit: number): boolean {
  const open: Json[] = [root];
  let characters = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    characters += typeof value === 'string' ? value.length + 2 : 1;
    if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        characters += name.length + 3;
        open.push(member);
      }
    }
    if (characters > limit) return true;
  }
  return false;
}
