/** Who a token's text belongs to, now: one indexed read, one comparison at least, and never an answer that is older than the last change here. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Position } from '../../../domain/event-store.ts';
import { bootstrapTokenId, type OrgId, type TokenId } from '../../../domain/ids.ts';
import type { HeldHash } from '../../../domain/token.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import type { Projector } from '../../../projections/runner/projector.ts';
import { findToken, type StoredToken } from '../../../projections/tokens.ts';
import type { Caller } from '../authenticate.ts';
import { awaitPosition } from '../conditional.ts';
import { Rejection } from '../errors.ts';
import { grantOf, type Roles } from '../roles.ts';
import { fullScopes } from '../scopes.ts';
import { isText, noToken, tokenIdIn } from './text.ts';

export type TokenDirectory = {
  /** Undefined for a text that is unknown, expired or revoked. Throws 503 while it cannot be known. */
  find(text: string): Promise<Caller | undefined>;
  /** The token was changed here at this position: the next look-up waits until reads show that. */
  changed(tokenId: TokenId, position: Position): void;
};

export type TokenDirectoryOptions = {
  readonly models: ReadModelStore;
  readonly projector: Pick<Projector, 'waitFor' | 'caughtUp' | 'status'>;
  readonly roles: Roles;
  readonly orgId: OrgId;
  /** The text that this process was configured with. */
  readonly bootstrapToken: string;
  readonly now: () => Date;
  /** Default: the real one. */
  readonly compare?: typeof isText;
};

const projection = 'tokens';
const maxWaitMs = 2_000;

export function createTokenDirectory(options: TokenDirectoryOptions): TokenDirectory {
  const { models, projector, roles, orgId, bootstrapToken, now, compare = isText } = options;
  const awaited = new Map<TokenId, Position>();
  const ready = readiness(projector);

  const find = async (text: string): Promise<Caller | undefined> => {
    await ready();
    const isBootstrap = sameText(text, bootstrapToken);
    const tokenId = isBootstrap ? bootstrapTokenId : tokenIdIn(text);
    const position = tokenId && awaited.get(tokenId);
    if (tokenId && position !== undefined) {
      await awaitPosition([projection], position, projector.waitFor);
      if (awaited.get(tokenId) === position) awaited.delete(tokenId);
    }
    const found = tokenId && findToken(models, tokenId);
    const time = now().toISOString();
    const isKnown = holds(text, found, time, compare);
    // One that this process has and that the log has not seen yet is no less valid for that.
    if (isBootstrap && !found) return administrator(orgId);
    if (!found || !isKnown) return undefined;
    // Each process takes its own only: what was taken out of a configuration is not valid any more.
    if (found.tokenId === bootstrapTokenId) return isBootstrap ? administrator(orgId) : undefined;
    return hasEnded(found, time) ? undefined : callerOf(roles, found);
  };
  return { find, changed: (tokenId, position) => void awaited.set(tokenId, position) };
}

/** Looks at every hash, and at one that nothing fits when there is none. */
function holds(text: string, found: StoredToken | undefined, time: string, compare: typeof isText): boolean {
  const hashes: readonly Pick<HeldHash, 'hash' | 'salt' | 'endsAt'>[] = found?.hashes ?? [];
  let isKnown = false;
  for (const held of hashes.length > 0 ? hashes : [noToken as HeldHash]) {
    const isSame = compare(text, held);
    if (isSame && hashes.length > 0 && (held.endsAt === undefined || time < held.endsAt)) isKnown = true;
  }
  return isKnown;
}

export const hasEnded = ({ isRevoked, terms }: Pick<StoredToken, 'isRevoked' | 'terms'>, time: string): boolean =>
  isRevoked || (terms.expiresAt !== null && terms.expiresAt <= time);

function callerOf(roles: Roles, { tokenId, orgId, terms }: StoredToken): Caller {
  const { scopes, apis, node } = grantOf(roles, terms);
  return {
    actor: { type: 'token', id: tokenId },
    orgId,
    scopes: fullScopes(scopes),
    ...(apis ? { apis: new Set(apis) } : {}),
    ...(node === undefined ? {} : { node }),
    ...(terms.expiresAt === null ? {} : { expiresAt: terms.expiresAt }),
  };
}

const administrator = (orgId: OrgId): Caller => ({
  actor: { type: 'token', id: bootstrapTokenId },
  orgId,
  scopes: 'all',
});

const sameText = (a: string, b: string): boolean => timingSafeEqual(sha256(a), sha256(b));

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Before the read model has been at the head of the log once, a token that was revoked elsewhere would still be taken. One
 * that has stopped at an event goes on with what it knows: somebody must be let in to mend it.
 */
function readiness(projector: TokenDirectoryOptions['projector']): () => Promise<void> {
  let isReady = false;
  const caughtUp = projector.caughtUp(projection).then(
    () => {
      isReady = true;
    },
    // The projector stops with the process.
    () => undefined,
  );
  return async () => {
    if (isReady) return;
    const timer = new AbortController();
    await Promise.race([caughtUp, wait(maxWaitMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
    if (isReady) return;
    const status = (await projector.status()).find(({ name }) => name === projection);
    if (status?.state === 'stopped') return;
    throw new Rejection('revision_not_reached', 'which tokens there are is not known yet', {
      headers: { 'Retry-After': '1' },
    });
  };
}
