/** Whether a body is valid OpenAPI 3.0 or 3.1, with every problem at its place. */
import { Validator } from '@seriousme/openapi-schema-validator';
import type { ErrorObject } from 'ajv';
import { definitionInvalid, type Problem } from '../../domain/errors.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import { isObject, pointerStep } from '../../domain/json.ts';

/** Throws the refusal `definition_invalid` with all problems. */
export type ValidateOpenApi = (document: JsonObject) => Promise<void>;

const maxProblems = 100;

/** The validator takes quadratic time for the list of all errors; larger documents get the first one only. */
const maxValuesForAll = 20_000;

/** Schemas are read and compiled when they are first needed, once per version. */
export function createValidateOpenApi(): ValidateOpenApi {
  const first = new Validator({ verbose: true });
  const all = new Validator({ verbose: true, allErrors: true });
  return async function validateOpenApi(document) {
    const early = [...versionProblems(document), ...memberProblems(document)];
    if (early.length > 0) throw definitionInvalid(early);
    // A copy: the validator may write into what it looks at.
    const copy = structuredClone(document);
    const result = await first.validate(copy);
    if (result.valid) return;
    const { errors } = hasFewerValues(document, maxValuesForAll) ? await all.validate(copy) : result;
    const problems =
      typeof errors === 'string' || !errors ? [referenceProblem(String(errors))] : schemaProblems(errors);
    throw definitionInvalid(problems.slice(0, maxProblems));
  };
}

/** Stops counting at the limit. */
function hasFewerValues(root: Json, limit: number): boolean {
  const open: Json[] = [root];
  for (let count = 0; count < limit; count++) {
    const value = open.pop();
    if (value === undefined) return true;
    if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) open.push(member);
  }
  return open.length === 0;
}

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
    return [{ pointer: `/${pointerStep(name)}`, code: 'type', message }];
  });

const referenceProblem = (message: string): Problem => ({ pointer: '', code: 'reference', message });

/** Branches of a choice that did not fit are noise beside the keyword that chose. */
function schemaProblems(errors: readonly ErrorObject[]): readonly Problem[] {
  const seen = new Set<string>();
  return errors.flatMap((error) => {
    const step = error.keyword === 'required' ? `/${pointerStep(String(error.params['missingProperty']))}` : '';
    const problem = { pointer: `${error.instancePath}${step}`, code: error.keyword, message: problemText(error) };
    const key = `${problem.pointer}\n${problem.message}`;
    if (seen.has(key)) return [];
    seen.add(key);
    return [problem];
  });
}

function problemText({ keyword, params, message, data }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'type':
      return `Invalid type. Expected: ${String(params['type'])}, given: ${typeName(data as Json | undefined)}`;
    case 'additionalProperties':
      return `unknown key "${String(params['additionalProperty'])}"`;
    case 'unevaluatedProperties':
      return `unknown key "${String(params['unevaluatedProperty'])}"`;
    default:
      return message ?? 'is not valid';
  }
}

const typeName = (value: Json | undefined): string =>
  value === null || value === undefined ? 'null' : Array.isArray(value) ? 'array' : typeof value;
