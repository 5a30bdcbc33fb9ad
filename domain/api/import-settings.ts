/** Settles a body against what is stored: query settings over the body's extension over the stored one (management design 4). */
import {
  apiIdMismatch,
  definitionInvalid,
  extensionMissing,
  nearestName,
  queryInvalid,
  type Refusal,
  type Warning,
} from '../errors.ts';
import type { Json, JsonObject } from '../event.ts';
import type { ApiId, OrgId } from '../ids.ts';
import { at, isObject, objectAt, textAt, withMember, withoutMember } from '../json.ts';
import type { Settled } from './api.ts';
import { withAuthentication } from './authentication.ts';
import { type ApiDocument, type ApiKind, gatewayExtension, streamingExtension } from './definition.ts';
import {
  hasJsonBody,
  hasMockableResponse,
  hasParameters,
  type Operation,
  operationsOf,
  pruneOperations,
  withBlocks,
} from './operations.ts';
import { upstreamFromServers } from './servers.ts';

/** The settings of the query, absent when not given. */
export type ImportSettings = {
  readonly listenPath?: string;
  readonly customDomain?: string;
  readonly upstreamURL?: string;
  readonly allowList?: boolean;
  readonly validateRequest?: boolean;
  readonly mockResponse?: boolean;
  readonly authentication?: boolean;
};

const textSettings = ['listenPath', 'customDomain', 'upstreamURL'] as const;
const booleanSettings = ['allowList', 'validateRequest', 'mockResponse', 'authentication'] as const;

/** Parameters that every write takes and that are no settings. */
const otherParameters = ['dryRun', 'strict', 'minRevision'];

const trueTexts = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const falseTexts = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Settings by name, the texts as they were given (for the event), and a warning for each parameter that is none. */
export type ParsedSettings = {
  readonly settings: ImportSettings;
  readonly given: Readonly<Record<string, string>>;
  readonly warnings: readonly Warning[];
};

/** Names are exact; values are trimmed, empty = not given. A boolean that does not read is refused, never ignored. */
export function parseSettings(query: Iterable<readonly [string, string]>, kind: ApiKind): ParsedSettings {
  const known = new Set<string>([...textSettings, ...booleanSettings]);
  if (kind === 'streams') known.delete('upstreamURL');
  const given: Record<string, string> = {};
  const warnings: Warning[] = [];
  for (const [name, value] of query) {
    const trimmed = value.trim();
    if (otherParameters.includes(name)) continue;
    if (!known.has(name)) warnings.push(unknownParameter(name, known));
    else if (given[name] !== undefined && given[name] !== trimmed) throw queryInvalid(name, 'given twice');
    else if (trimmed !== '') given[name] = trimmed;
  }
  const texts = textSettings.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]] as const]));
  const booleans = booleanSettings.flatMap((name) =>
    given[name] === undefined ? [] : [[name, readBoolean(name, given[name])] as const],
  );
  return { settings: Object.fromEntries<string | boolean>([...texts, ...booleans]) as ImportSettings, given, warnings };
}

function readBoolean(name: string, value: string): boolean {
  if (trueTexts.has(value)) return true;
  if (falseTexts.has(value)) return false;
  throw queryInvalid(name, `"${value}" is no boolean; use true or false`);
}

function unknownParameter(name: string, known: Iterable<string>): Warning {
  const nearest = nearestName(name, known);
  return {
    pointer: `/query/${name}`,
    code: 'unknown_parameter',
    text: `unknown parameter "${name}"${nearest ? `, did you mean "${nearest}"?` : '; it is ignored'}`,
  };
}

export type SettleInput = {
  /** The document as stored; absent for a new API. */
  readonly stored?: ApiDocument;
  readonly body: JsonObject;
  readonly settings: ImportSettings;
  readonly mode: 'create' | 'replace' | 'patch';
  readonly kind: ApiKind;
  readonly ids: { readonly apiId: ApiId; readonly orgId: OrgId; readonly dbId: string };
};

/** The document that would be stored. Settling twice changes nothing. Checks of its meaning follow (`check-api.ts`). */
export function settle(input: SettleInput): Settled {
  const { stored, body, settings, mode, kind, ids } = input;
  const bodyExtension = readExtension(body);
  refuseMissing(input, bodyExtension);
  if (mode !== 'create') refuseOtherId(bodyExtension, ids.apiId);
  const chosen = bodyExtension ?? objectAt(stored, gatewayExtension);
  const fills = bodyExtension === undefined || (mode === 'patch' && Object.keys(settings).length > 0);
  let extension = chosen ?? importDefaults;
  const warnings: Warning[] = idWarnings(bodyExtension, ids);
  extension = withSettings(extension, settings);
  if (fills) extension = filled(extension, body, kind, warnings);
  if (settings.authentication !== undefined) {
    const current = objectAt(extension, 'server', 'authentication');
    const { block, warnings: remarks } = withAuthentication(body, current, settings.authentication);
    extension = withMember(extension, ['server', 'authentication'], block);
    warnings.push(...remarks);
  }
  extension = withMember(extension, ['info'], {
    ...objectAt(extension, 'info'),
    id: ids.apiId,
    dbId: ids.dbId,
    orgId: ids.orgId,
  });
  const document = withOperationSettings({ ...oasPart(input), [gatewayExtension]: extension }, settings);
  const { document: settled, pruned, warnings: prunedWarnings } = pruneOperations(document);
  return { document: settled, prunedOperations: pruned, warnings: [...warnings, ...prunedWarnings] };
}

function readExtension(body: JsonObject): JsonObject | undefined {
  const extension = body[gatewayExtension];
  if (extension === undefined || isObject(extension)) return extension;
  throw invalid(`/${gatewayExtension}`, 'extension_invalid', 'must be an object');
}

const invalid = (pointer: string, code: string, message: string): Refusal =>
  definitionInvalid([{ pointer, code, message }]);

function refuseMissing({ body, mode, kind }: SettleInput, extension: JsonObject | undefined): void {
  if (mode === 'patch' || extension) return;
  if (kind !== 'streams') throw extensionMissing('The payload should contain x-svc-api-gateway.');
  if (!isObject(body[streamingExtension])) {
    throw extensionMissing('The payload should contain x-svc-api-gateway and/or x-svc-streaming.');
  }
}

function refuseOtherId(extension: JsonObject | undefined, apiId: ApiId): void {
  const given = at(extension, 'info', 'id');
  if (given !== undefined && given !== '' && given !== apiId) throw apiIdMismatch();
}

/** What an import gives to a document that comes without extension. */
const importDefaults: JsonObject = {
  info: { name: '', state: { active: true, internal: false } },
  server: { listenPath: { value: '', strip: true } },
  middleware: { global: { contextVariables: { enabled: true }, trafficLogs: { enabled: true } } },
};

const idWarnings = (
  extension: JsonObject | undefined,
  ids: { readonly orgId: OrgId; readonly dbId: string },
): Warning[] =>
  (['dbId', 'orgId'] as const).flatMap((name) => {
    const given = at(extension, 'info', name);
    return given === undefined || given === '' || given === ids[name]
      ? []
      : [{ pointer: `/${gatewayExtension}/info/${name}`, code: 'id_kept', text: `${name} stays ${ids[name]}` }];
  });

function withSettings(extension: JsonObject, settings: ImportSettings): JsonObject {
  let result = extension;
  const { listenPath, customDomain, upstreamURL } = settings;
  if (listenPath !== undefined) result = withMember(result, ['server', 'listenPath', 'value'], listenPath);
  if (customDomain !== undefined) {
    const stored = objectAt(result, 'server', 'customDomain');
    const domain = { enabled: true, ...stored, name: customDomain };
    result = withMember(result, ['server', 'customDomain'], domain);
  }
  if (upstreamURL !== undefined) {
    if (!URL.canParse(upstreamURL)) {
      throw invalid(
        `/${gatewayExtension}/upstream/url`,
        'upstream_url_invalid',
        'upstreamURL: must be an absolute URL',
      );
    }
    result = withMember(result, ['upstream', 'url'], upstreamURL);
  }
  return result;
}

/** Name, listen path and upstream address where the extension does not say them. */
function filled(extension: JsonObject, body: JsonObject, kind: ApiKind, warnings: Warning[]): JsonObject {
  let result = extension;
  if (!textAt(result, 'info', 'name')?.trim()) {
    result = withMember(result, ['info', 'name'], textAt(body, 'info', 'title') ?? '');
  }
  if (!textAt(result, 'server', 'listenPath', 'value')?.trim()) {
    result = withMember(result, ['server', 'listenPath', 'value'], '/');
  }
  if (textAt(result, 'upstream', 'url')) return result;
  const found = upstreamFromServers(body);
  if ('url' in found) return withMember(result, ['upstream', 'url'], found.url);
  if (kind !== 'streams') throw invalid(found.pointer, 'servers_invalid', found.reason);
  if (Object.keys(objectAt(body, streamingExtension, 'streams') ?? {}).length === 0) {
    warnings.push({
      pointer: `/${gatewayExtension}/upstream/url`,
      code: 'upstream_missing',
      text: `no upstream address (${found.reason}); requests are answered with 404`,
    });
  }
  return result;
}

/** The OAS part comes whole from the body; servers and streams are kept when a PATCH does not speak of them. */
function oasPart({ stored, body, mode }: SettleInput): ApiDocument {
  let result = withoutMember(body, gatewayExtension);
  if (body[streamingExtension] === null) result = withoutMember(result, streamingExtension);
  if (mode !== 'patch' || !stored) return result;
  for (const name of ['servers', streamingExtension]) {
    const kept = stored[name];
    if (!Object.hasOwn(body, name) && kept !== undefined) result = { ...result, [name]: kept };
  }
  return result;
}

/** The three switches that reach into every operation (management design 4.2). */
function withOperationSettings(document: ApiDocument, settings: ImportSettings): ApiDocument {
  const { allowList, validateRequest, mockResponse } = settings;
  if (allowList === undefined && validateRequest === undefined && mockResponse === undefined) return document;
  let blocks = objectAt(document, gatewayExtension, 'middleware', 'operations') ?? {};
  for (const operation of operationsOf(document)) {
    let block = objectAt(blocks, operation.id) ?? {};
    if (allowList !== undefined) block = withAllow(block, allowList);
    if (validateRequest !== undefined) block = withValidation(block, operation, validateRequest);
    if (mockResponse !== undefined) block = withMock(block, operation, mockResponse);
    if (Object.keys(block).length > 0) blocks = { ...blocks, [operation.id]: block };
  }
  return withBlocks(document, blocks);
}

function withAllow(block: JsonObject, enabled: boolean): JsonObject {
  const allow = withMember(block, ['allow', 'enabled'], enabled);
  return enabled && at(block, 'block', 'enabled') === true ? withMember(allow, ['block', 'enabled'], false) : allow;
}

const withValidation = (block: JsonObject, operation: Operation, enabled: boolean): JsonObject =>
  hasJsonBody(operation) || hasParameters(operation)
    ? { ...block, validateRequest: { ...objectAt(block, 'validateRequest'), enabled, errorResponseCode: 422 } }
    : block;

function withMock(block: JsonObject, operation: Operation, enabled: boolean): JsonObject {
  if (!hasMockableResponse(operation)) return block;
  const fromOASExamples: Json = { ...objectAt(block, 'mockResponse', 'fromOASExamples'), enabled };
  return { ...block, mockResponse: { ...objectAt(block, 'mockResponse'), enabled, fromOASExamples } };
}
