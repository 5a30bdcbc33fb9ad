/** Whether a body is valid OpenAPI 3.0 or 3.1, with the first hundred problems at their places, in linear time. */
import { readFile } from 'node:fs/promises';
import { anchorsOf, leadsSomewhere, referencesOf } from '../../../domain/api/references.ts';
import { definitionInvalid, type Problem } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { isObject, pointerStep } from '../../../domain/json.ts';
import { createShapeCheck, type ShapeCheck } from '../../../domain/json-schema.ts';
import { type Schema, typeName } from '../../../domain/json-schema-keywords.ts';

/** Throws the refusal `definition_invalid` with all problems. */
export type ValidateOpenApi = (document: JsonObject) => Promise<void>;

const maxProblems = 100;

/** Schemas are read when they are first needed, once per version. */
export function createValidateOpenApi(): ValidateOpenApi {
  const checks = new Map<string, Promise<ShapeCheck>>();
  return async function validateOpenApi(document) {
    const early = [...versionProblems(document), ...memberProblems(document)];
    if (early.length > 0) throw definitionInvalid(early);
    const version = String(document['openapi']).slice(0, 3);
    const check = checks.get(version) ?? shapeCheckOf(version);
    checks.set(version, check);
    const shape = (await check)(document).map(({ pointer, keyword, message }) => ({
      ...{ pointer, keyword, code: keyword, message: defaultMissing(pointer, keyword) ?? message },
    }));
    const problems = shape.length > 0 ? shape : danglingReferences(document);
    if (problems.length > 0) throw definitionInvalid(problems);
  };
}

/** The words that clients know; the address of the upstream needs the value. */
function defaultMissing(pointer: string, keyword: string): string | undefined {
  const name = keyword === 'required' && /\/servers\/\d+\/variables\/([^/]+)\/default$/.exec(pointer)?.[1];
  if (!name) return undefined;
  return `server variable ${name.replaceAll('~1', '/').replaceAll('~0', '~')} does not have a default value`;
}

/** The published schemas of OpenAPI; our check reads them, because compiled ones take quadratic time for many errors. */
async function shapeCheckOf(version: string): Promise<ShapeCheck> {
  const file = import.meta.resolve(`@seriousme/openapi-schema-validator/schemas/v${version}/schema.json`);
  const schema: Schema = JSON.parse(await readFile(new URL(file), 'utf8'));
  return createShapeCheck(schema, { maxProblems, formats });
}

const isUriText = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  !/[\u0000-\u0020<>"{}|\\^`\u007f]/.test(text) && !/%(?![0-9a-f]{2})/i.test(text) && !/#.*#/.test(text);

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'uri-reference': isUriText,
  uri: (text) => isUriText(text) && /^[a-z][a-z0-9+.-]*:./i.test(text),
  email: (text) => text.length <= 320 && /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*$/.test(text),
  regex: (text) => {
    try {
      new RegExp(text, 'u');
      return true;
    } catch {
      return false;
    }
  },
};

function versionProblems({ openapi }: JsonObject): readonly Problem[] {
  if (typeof openapi === 'string' && /^3\.[01]\.\d+/.test(openapi)) return [];
  const given = typeof openapi === 'string' ? openapi : '';
  return [{ pointer: '', code: 'openapi_version', message: `Schema not found for version "${given}"` }];
}

/** Checked apart, because OpenAPI 3.1 itself would let `paths` be absent. */
const memberProblems = (document: JsonObject): readonly Problem[] =>
  ['info', 'paths'].flatMap((name) => {
    const member = document[name];
    if (isObject(member)) return [];
    const message = `Invalid type. Expected: object, given: ${typeName(member)}`;
    return [{ pointer: `/${pointerStep(name)}`, keyword: 'type', code: 'type', message }];
  });

/** References into the document that lead nowhere; those to other documents are a rule of definitions. */
function danglingReferences(document: JsonObject): readonly Problem[] {
  const problems: Problem[] = [];
  let anchors: ReadonlySet<string> | undefined;
  for (const { pointer, target } of referencesOf(document)) {
    if (problems.length >= maxProblems) break;
    if (!target.startsWith('#')) continue;
    const place = target.slice(1);
    anchors ??= anchorsOf(document);
    if (place === '' || (place.startsWith('/') ? leadsSomewhere(document, place) : anchors.has(place))) continue;
    problems.push({ pointer, code: 'reference', message: `Can't resolve ${target}` });
  }
  return problems;
}
