/** What this version does not run: blocks that are refused when they are on, and blocks that are stored with a remark (ADR 11). */
import type { Warning } from '../../errors.ts';
import type { Json, JsonObject } from '../../event.ts';
import { isObject } from '../../json.ts';
import { operationSchema } from '../schema/operation.ts';
import { isSet, type Path, problem, type Rule, warning } from './rule.ts';

export type Effect = 'not_offered' | 'no_effect';

const rows = (effect: Effect, paths: string): readonly { readonly path: Path; readonly effect: Effect }[] =>
  paths
    .trim()
    .split(/\s+/)
    .map((path) => ({ path: path.split('/'), effect }));

/**
 * Blocks that would protect something or decide where a request goes. Enabled they are refused: a gateway that ignored
 * them would let requests pass that the definition forbids (api-definition design 0.10). A feature takes its row away.
 */
const notOffered = rows(
  'not_offered',
  `
  server/authentication/custom
  server/authentication/hmac
  server/authentication/oidc
  server/authentication/exchange
  server/authentication/externalOAuth
  server/authentication/protectedResourceMetadata
  server/authentication/scopeCheck
  server/authentication/tokenExchange
  server/authentication/securitySchemes/*/enableClientCertificate
  server/authentication/securitySchemes/*/exchange
  server/authentication/securitySchemes/*/extractCredentialsFromBody
  server/authentication/securitySchemes/*/protectedResourceMetadata
  server/authentication/securitySchemes/*/scopeCheck
  server/authentication/securitySchemes/*/signatureValidation
  server/clientCertificates
  server/port
  server/protocol
  upstream/authentication
  upstream/certificatePinning
  upstream/loadBalancing
  upstream/mutualTLS
  upstream/proxy
  upstream/serviceDiscovery
  upstream/tlsTransport/ciphers
  upstream/tlsTransport/forceCommonNameCheck
  upstream/uptimeTests
  middleware/global/pluginConfig/bundle
  middleware/global/prePlugins/*
  middleware/global/postAuthenticationPlugins/*
  middleware/global/postPlugins/*
  middleware/global/responsePlugins/*
  middleware/global/prePlugin/plugins/*
  middleware/global/postAuthenticationPlugin/plugins/*
  middleware/global/postPlugin/plugins/*
  middleware/global/responsePlugin/plugins/*
  middleware/global/trafficLogs/plugins/*
  middleware/mcpPrompts/*
  middleware/mcpResources/*
  middleware/mcpTools/*
  middleware/operations/*/*
  `,
);

/** Blocks that protect nothing: stored, with a remark. */
const noEffect = rows(
  'no_effect',
  `
  errorOverrides
  middleware/global/cache/onStoreFailure
  middleware/global/ignoreCase
  middleware/global/trafficLogs/onFull
  middleware/global/trafficLogs/waitForCommit
  middleware/global/pluginConfig/data
  middleware/operations/*/trackEndpoint
  server/authentication/customKeyLifetime
  server/authentication/security
  server/batchProcessing
  server/customDomain/certificates
  server/detailedTracing
  server/onStoreFailure
  upstream/retry
  upstream/test/serviceDiscovery
  upstream/tlsTransport/insecureSkipVerify
  `,
);

/** Run, among others of their kind that are not. */
const run: readonly { readonly path: Path; readonly effect?: Effect }[] = [
  { path: ['middleware', 'operations', '*', 'cache'] },
];

const effects = [...noEffect, ...notOffered, ...run];

/** The rows as a tree of steps, so that one walk over a definition finds them all. */
type Tree = { readonly effect?: Effect; readonly next: Readonly<Record<string, Tree>> };

const withRow = ({ next, ...tree }: Tree, [step, ...rest]: Path, effect: Effect | undefined): Tree =>
  step === undefined
    ? { ...tree, next, ...(effect === undefined ? {} : { effect }) }
    : { ...tree, next: { ...next, [step]: withRow(next[step] ?? { next: {} }, rest, effect) } };

const tree = effects.reduce<Tree>((grown, { path, effect }) => withRow(grown, path, effect), { next: {} });

/** What is written one by one wins over `*`. */
const stepInto = ({ next }: Tree, step: string): Tree | undefined =>
  Object.hasOwn(next, step) ? next[step] : next['*'];

/** What becomes of a member; undefined = the gateway runs it, or it needs no running. */
export const effectOf = (path: Path): Effect | undefined =>
  path.reduce<Tree | undefined>((at, step) => at && stepInto(at, step), tree)?.effect;

/** A list of blocks counts when one of them is on. */
const isOnOrListed: typeof isSet = (value) =>
  Array.isArray(value) && value.some((element) => typeof element === 'object') ? value.some(isSet) : isSet(value);

type Affected = { readonly path: Path; readonly effect: Effect };

function* affected(value: Json, at: Tree, path: Path): Generator<Affected, void> {
  if (at.effect && isOnOrListed(value)) yield { path, effect: at.effect };
  if (typeof value !== 'object' || value === null) return;
  // Nothing has an effect in a block that is off.
  if (isObject(value) && value['enabled'] === false) return;
  const names = Object.hasOwn(at.next, '*') ? Object.keys(value) : Object.keys(at.next);
  for (const name of names) {
    const next = stepInto(at, name);
    const member = Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined;
    if (next && member !== undefined) yield* affected(member, next, [...path, name]);
  }
}

const knownBlocks = Object.keys(operationSchema['properties'] as JsonObject);

/** A name of an operation that nobody knows is a remark, as it is everywhere. */
const isUnknownBlock = ([part, list, , block = '']: Path): boolean =>
  part === 'middleware' && list === 'operations' && !knownBlocks.includes(block);

const refusal = 'is not offered by this version; set enabled to false or leave it out';

export const refusesWhatIsNotOffered: Rule = (extension) =>
  affected(extension, tree, [])
    .filter(({ path, effect }) => effect === 'not_offered' && !isUnknownBlock(path))
    .map(({ path }) => problem(path, 'not_offered', refusal));

export const effectWarnings = (extension: JsonObject): readonly Warning[] =>
  [...affected(extension, tree, []).filter(({ effect }) => effect === 'no_effect')].map(({ path }) =>
    warning(path, 'no_effect', 'is stored and has no effect in this version'),
  );
