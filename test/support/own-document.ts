/** Holds answers of the management API against its own document: status, content type, schema. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../domain/event.ts';
import { at, pointerStep } from '../../domain/json.ts';
import { createDocument } from '../../src/management/openapi.ts';
import type { Route } from '../../src/management/route.ts';
import { routes } from '../../src/management/routes.ts';
import type { Answer } from './management-server.ts';

export const ownDocument: JsonObject = createDocument(routes, { maxDefinitionBytes: 4 * 1024 * 1024 });

/** What is wrong with the answer, in words; empty when the document allows it. */
export type Judge = (route: Pick<Route, 'method' | 'path'>, answer: Answer) => readonly string[];

export function createJudge(): Judge {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema(ownDocument, 'own');
  return ({ method, path }, { status, headers, json, text }) => {
    const place = ['paths', path, method.toLowerCase(), 'responses', String(status)];
    const content = at(ownDocument, ...place, 'content');
    if (at(ownDocument, ...place) === undefined) return [`status ${status} is not documented: ${text.slice(0, 300)}`];
    if (status === 204 || status === 304) return [];
    const type = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    if (at(content, type) === undefined) return [`content type "${type}" of ${status} is not documented`];
    if (!/json|oas$/.test(type) || /ndjson/.test(type) || at(content, type, 'schema') === undefined) return [];
    const reference = ['#', ...[...place, 'content', type, 'schema'].map(pointerStep)].join('/');
    const validate = ajv.getSchema(`own${encodeURI(reference)}`);
    if (!validate) return [`no schema at ${reference}`];
    if (validate(text.startsWith('[') ? JSON.parse(text) : json)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${status}: ${instancePath} ${message}`);
  };
}
