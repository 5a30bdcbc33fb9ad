/** Settles a body against what is stored: query settings over the body's extension over the stored one (management design 4). */
import { apiIdMismatch, extensionMissing, extensionPresent, Refusal, type Warning } from '../errors.ts';
import type { JsonObject } from '../event.ts';
import type { ApiId, OrgId } from '../ids.ts';
import { at, isObject, objectAt, textAt, withMember, withoutMember } from '../json.ts';
import type { Settled } from './api.ts';
import { withAuthentication } from './authentication.ts';
import { type ApiDocument, type ApiKind, gatewayExtension, streamingExtension } from './definition.ts';
import { withOperationSettings } from './operation-settings.ts';
import { pruneOperations } from './operations.ts';
import type { ImportSettings } from './query-settings.ts';
import { generatedServers, type PublicGateway, upstreamFromServers, withoutGeneratedServers } from './servers.ts';

export type SettleInput = {
  /** The document as stored; absent for a new API. */
  readonly stored?: ApiDocument;
  readonly body: JsonObject;
  readonly settings: ImportSettings;
  /** `partial`: the body is the stored document with a patch applied to it as a whole. */
  readonly mode: 'create' | 'import' | 'replace' | 'patch' | 'partial';
  readonly kind: ApiKind;
  /** Addresses that exports put into `servers`. */
  readonly gateways?: readonly PublicGateway[];
  readonly ids: { readonly apiId: ApiId; readonly orgId: OrgId; readonly dbId: string };
};

/** The document that would be stored. Settling twice changes nothing. Checks of its meaning follow (`check-api.ts`). */
export function settle(input: SettleInput): Settled {
  const { stored, body, settings, kind, ids } = input;
  const given = readExtension(body);
  refuseMissing(input, given);
  if (stored) refuseOtherId(given, ids.apiId);
  const warnings: Warning[] = [...idWarnings(given, ids)];
  const chosen = withSettings(given ?? objectAt(stored, gatewayExtension) ?? importDefaults, settings);
  const part = ownServers(oasPart(input), chosen, input.gateways ?? []);
  const isFilled = given === undefined || (stored !== undefined && Object.keys(settings).length > 0);
  const extension = withContextVariables(isFilled ? filled(chosen, part, kind, warnings) : chosen, warnings);
  const document = withOperationSettings(
    { ...part, [gatewayExtension]: withIds(withSecurity(extension, part, settings, warnings), ids) },
    settings,
  );
  const { document: settled, pruned, warnings: prunedWarnings } = pruneOperations(document);
  return { document: settled, prunedOperations: pruned, warnings: [...warnings, ...prunedWarnings] };
}

/** `server.contextVariables` is the older place of the block: it is stored in the newer one, which counts when both are there (api-definition design 6.2). */
function withContextVariables(extension: JsonObject, warnings: Warning[]): JsonObject {
  const server = objectAt(extension, 'server') ?? {};
  const block = server['contextVariables'];
  const path = ['middleware', 'global', 'contextVariables'];
  const holders = [at(extension, 'middleware'), at(extension, 'middleware', 'global')];
  // What is no block is for the schema to judge.
  if (!isObject(block) || typeof block['enabled'] !== 'boolean') return extension;
  if (holders.some((one) => one !== undefined && !isObject(one))) return extension;
  const [pointer, text] = [`/${gatewayExtension}/server/contextVariables`, `stands in ${path.join('.')}`];
  warnings.push({ pointer, code: 'older_place', text });
  const moved = { ...extension, server: withoutMember(server, 'contextVariables') };
  return at(extension, ...path) === undefined ? withMember(moved, path, block) : moved;
}

const withIds = (extension: JsonObject, { apiId, orgId, dbId }: SettleInput['ids']): JsonObject =>
  withMember(extension, ['info'], { ...objectAt(extension, 'info'), id: apiId, dbId, orgId });

/** The stored document keeps the servers of its user alone: what an export added goes. */
const ownServers = (part: ApiDocument, extension: JsonObject, gateways: readonly PublicGateway[]): ApiDocument =>
  withoutGeneratedServers(part, generatedServers({ [gatewayExtension]: extension }, gateways));

function withSecurity(
  extension: JsonObject,
  part: ApiDocument,
  { authentication, securityProcessingMode: mode }: ImportSettings,
  warnings: Warning[],
): JsonObject {
  const path = ['server', 'authentication'];
  let result = extension;
  if (authentication !== undefined) {
    const { block, warnings: remarks } = withAuthentication(part, objectAt(extension, ...path), authentication);
    result = withMember(result, path, block);
    warnings.push(...remarks);
  }
  if (mode === undefined) return result;
  // The mode alone switches nothing on or off.
  const block = { enabled: false, ...objectAt(result, ...path), securityProcessingMode: mode };
  return withMember(result, path, block);
}

function readExtension(body: JsonObject): JsonObject | undefined {
  const extension = body[gatewayExtension];
  if (extension === undefined || isObject(extension)) return extension;
  throw invalid(`/${gatewayExtension}`, 'extension_invalid', `${gatewayExtension}: must be an object`);
}

/** Texts that clients know: the pointer stands beside them, not in them. */
const invalid = (pointer: string, code: string, message: string): Refusal =>
  new Refusal('definition_invalid', message, [{ pointer, code, message }]);

function refuseMissing({ body, mode, kind }: SettleInput, extension: JsonObject | undefined): void {
  if (mode === 'import') {
    if (extension) throw extensionPresent();
    return;
  }
  if (mode === 'patch' || extension) return;
  if (kind !== 'streams') throw extensionMissing('The payload should contain x-svc-api-gateway.');
  // Streams alone keep the stored extension, but a patch that took it out meant to.
  if (isObject(body[streamingExtension]) && mode !== 'partial') return;
  throw extensionMissing('The payload should contain x-svc-api-gateway and/or x-svc-streaming.');
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
