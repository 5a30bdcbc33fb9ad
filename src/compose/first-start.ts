/** What the first start of an installation makes: its organisation, as an event, and the admin token, as a file. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 } from 'uuid';
import type { EventStore } from '../../domain/event-store.ts';
import { decodeEvent, encodeEvent } from '../../domain/events.ts';
import { type OrgId, orgStream, toOrgId } from '../../domain/ids.ts';
import { organisation } from '../../domain/organisation.ts';

/** The organisation of the log; made when the log has none. */
export async function ensureOrganisation(store: EventStore, now: () => Date): Promise<OrgId> {
  const found = await storedOrganisation(store);
  if (found) return found;
  const orgId = toOrgId(randomBytes(12).toString('hex'));
  const command = { type: 'CreateOrganisation', orgId, name: 'default' } as const;
  const commandId = v7();
  const meta = {
    v: '1',
    at: now().toISOString(),
    orgId,
    actorType: 'system',
    actorId: 'first-start',
    commandId,
    commandType: command.type,
  };
  const events = organisation.decide(command, organisation.initial).map((event) => encodeEvent(event, v7(), meta));
  await store.append([{ stream: orgStream(orgId), expected: 'noStream', events }], { commandId, timeoutMs: 10_000 });
  return orgId;
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
