/** What the first start of an installation makes: its organisation, as an event, and the admin token, as a file and as an event. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { fold } from '../../domain/decider.ts';
import { type EventStore, type Expected, WrongExpectedVersion } from '../../domain/event-store.ts';
import { type DomainEvent, decodeEvent, encodeEvent } from '../../domain/events.ts';
import { bootstrapTokenId, type OrgId, orgStream, tokenStream, toOrgId } from '../../domain/ids.ts';
import { organisation } from '../../domain/organisation.ts';
import { type TokenEvent, token } from '../../domain/token.ts';
import { isText, keptOf } from '../management/tokens/text.ts';

/** The organisation of the log; made when the log has none. */
export async function ensureOrganisation(store: EventStore, now: () => Date): Promise<OrgId> {
  const found = await storedOrganisation(store);
  if (found) return found;
  const orgId = toOrgId(randomBytes(12).toString('hex'));
  const command = { type: 'CreateOrganisation', orgId, name: 'default' } as const;
  const events = organisation.decide(command, organisation.initial);
  await append(store, { stream: orgStream(orgId), expected: 'noStream', events }, command, now);
  return orgId;
}

type Write = { readonly stream: string; readonly expected: Expected; readonly events: readonly DomainEvent[] };

async function append(
  store: EventStore,
  { stream, expected, events }: Write,
  { type, orgId }: { readonly type: string; readonly orgId: OrgId },
  now: () => Date,
): Promise<void> {
  const commandId = v7();
  const at = now().toISOString();
  const meta = { v: '1', at, orgId, actorType: 'system', actorId: 'first-start', commandId, commandType: type };
  const encoded = events.map((event) => encodeEvent(event, v7(), meta));
  await store.append([{ stream, expected, events: encoded }], { commandId, timeoutMs: 10_000 });
}

async function storedOrganisation(store: EventStore): Promise<OrgId | undefined> {
  let after = '';
  for (;;) {
    const page = await store.readAll({ after, limit: 100, filter: { types: ['OrganisationCreated'] } });
    for (const stored of page.events) {
      const { event } = decodeEvent(stored);
      if (event.type === 'OrganisationCreated') return event.orgId;
    }
    if (page.atHead) return undefined;
    after = page.next;
  }
}

export type AdminToken = { readonly token: string; readonly file?: string; readonly isNew: boolean };

/** The configured token, or the one in `admin-token` (mode 0600), which is generated when the file is not there. */
export function ensureAdminToken(directory: string, configured: string | undefined): AdminToken {
  if (configured !== undefined) return { token: configured, isNew: false };
  const file = join(directory, 'admin-token');
  if (existsSync(file)) return { token: readFileSync(file, 'utf8').trim(), file, isNew: false };
  const token = `svct_bootstrap_${randomBytes(32).toString('base64url')}`;
  writeFileSync(file, `${token}\n`, { mode: 0o600, flag: 'wx' });
  return { token, file, isNew: true };
}

/**
 * Says in the log that there is this token, once per text: so it is listed, and can be revoked. A text that was revoked stays
 * revoked, however often the process starts with it.
 */
export async function ensureBootstrapToken(
  store: EventStore,
  orgId: OrgId,
  text: string,
  now: () => Date,
): Promise<void> {
  const kept = keptOf(text);
  for (let attempt = 1; ; attempt++) {
    const { events, head } = await bootstrapEvents(store);
    const isKnown = events.some((event) => event.type === 'TokenIssued' && isText(text, event));
    if (isKnown) return;
    const terms = { name: 'bootstrap', scopes: [], roles: ['admin'], expiresAt: null };
    const command = { type: 'InstallBootstrapToken', orgId, tokenId: bootstrapTokenId, ...terms, ...kept } as const;
    const decided = token.decide(command, fold(token, events));
    try {
      return await append(
        store,
        { stream: tokenStream(bootstrapTokenId), expected: head ?? 'noStream', events: decided },
        command,
        now,
      );
    } catch (error) {
      // Another process starts at the same time.
      if (!(error instanceof WrongExpectedVersion) || attempt >= maxAttempts) throw error;
    }
  }
}

const maxAttempts = 5;
const pageEvents = 1_000;

async function bootstrapEvents(store: EventStore) {
  const events: TokenEvent[] = [];
  let head: bigint | undefined;
  for (;;) {
    const from = head === undefined ? {} : { from: head + 1n };
    const page = await store.readStream(tokenStream(bootstrapTokenId), { ...from, limit: pageEvents });
    events.push(...page.map((stored) => decodeEvent(stored).event as TokenEvent));
    const last = page.at(-1);
    if (!last) return { events, head };
    head = last.revision;
  }
}
