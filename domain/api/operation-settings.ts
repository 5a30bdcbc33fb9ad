/** The three settings of a query that reach into every operation: allow list, validation, mocks (management design 4.2). */
import type { Json, JsonObject } from '../event.ts';
import { at, isObject, objectAt, withMember } from '../json.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';
import {
  hasJsonBody,
  hasMockableResponse,
  hasParameters,
  type Operation,
  operationsOf,
  withBlocks,
} from './operations.ts';
import type { ImportSettings } from './query-settings.ts';

export function withOperationSettings(document: ApiDocument, settings: ImportSettings): ApiDocument {
  const { allowList, validateRequest, mockResponse } = settings;
  if (allowList === undefined && validateRequest === undefined && mockResponse === undefined) return document;
  const before = objectAt(document, gatewayExtension, 'middleware', 'operations') ?? {};
  const blocks = new Map(Object.entries(before));
  for (const operation of operationsOf(document)) {
    const known = blocks.get(operation.id);
    let block = isObject(known) ? known : {};
    if (allowList !== undefined) block = withAllow(block, allowList);
    if (validateRequest !== undefined) block = withValidation(document, block, operation, validateRequest);
    if (mockResponse !== undefined) block = withMock(document, block, operation, mockResponse);
    if (Object.keys(block).length > 0) blocks.set(operation.id, block);
  }
  return withBlocks(document, Object.fromEntries(blocks));
}

function withAllow(block: JsonObject, enabled: boolean): JsonObject {
  const allow = withMember(block, ['allow', 'enabled'], enabled);
  return enabled && at(block, 'block', 'enabled') === true ? withMember(allow, ['block', 'enabled'], false) : allow;
}

const withValidation = (
  document: ApiDocument,
  block: JsonObject,
  operation: Operation,
  enabled: boolean,
): JsonObject =>
  hasJsonBody(document, operation) || hasParameters(operation)
    ? { ...block, validateRequest: { ...objectAt(block, 'validateRequest'), enabled, errorResponseCode: 422 } }
    : block;

function withMock(document: ApiDocument, block: JsonObject, operation: Operation, enabled: boolean): JsonObject {
  if (!hasMockableResponse(document, operation)) return block;
  const fromOASExamples: Json = { ...objectAt(block, 'mockResponse', 'fromOASExamples'), enabled };
  return { ...block, mockResponse: { ...objectAt(block, 'mockResponse'), enabled, fromOASExamples } };
}
