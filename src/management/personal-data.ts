/** Personal data in the metadata of events, the caller's address and name, sealed with a key per organisation and month. */
import { createHash } from 'node:crypto';
import type { OrgId } from '../../domain/ids.ts';
import { isSealed, type Seal, type SealedSecret } from './held-secrets.ts';

/** The part of the key ring that is asked for keys by name. */
export type NamedKeys = {
  /** Makes the key with this name unless the ring has it. */
  ensure(kid: string): Promise<void>;
  /** What opens secrets under the key, which is looked up once; undefined when the ring has no such key. */
  opener(kid: string): Promise<OpenSealed | undefined>;
};

type OpenSealed = (
  secret: SealedSecret,
  place: { readonly stream: string; readonly type: string; readonly path: string },
) => string;

/** What of it: the address, and who the proxy in front says it was. */
export type PersonalName = 'ip' | 'actorDetail';

/** Which event the data belongs to, and under which name it stands in its metadata. */
type EventPlace = { readonly stream: string; readonly type: string; readonly name: PersonalName };

export type PersonalData = {
  /** Text for the metadata of one event; it opens at that event only. */
  seal(clear: string, about: EventPlace & { readonly orgId: OrgId; readonly at: Date }): Promise<string>;
  /** For one answer, in which each key is looked up once: what is shredded afterwards is gone from the next one. */
  reader(): ReadPersonal;
};

/** What was sealed; undefined once the key of its month is gone. */
export type ReadPersonal = (text: string, about: EventPlace) => Promise<string | undefined>;

/** Where it stands in the event; part of what is authenticated. */
const pathOf = (name: PersonalName): string => `meta.${name}`;

const prefix = 'personal-';

/** `personal-2026-11-acme`: one key for everything personal of one organisation in one month (UTC). */
export const personalKid = (orgId: OrgId, at: Date): string => `${prefix}${monthOf(at)}-${orgId}`;

/** `2026-11`; undefined for the key of something else. */
export const personalMonth = (kid: string): string | undefined =>
  kid.startsWith(prefix) ? /^\d{4}-\d{2}(?=-)/.exec(kid.slice(prefix.length))?.[0] : undefined;

const monthOf = (at: Date): string => at.toISOString().slice(0, 7);

/** The first month whose key is kept: `months` full ones before the one that runs. */
export const oldestKeptMonth = (now: Date, months: number): string =>
  monthOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)));

export function createPersonalData(seal: Seal, keys: NamedKeys): PersonalData {
  return {
    seal: async (clear, { orgId, at, stream, type, name }) => {
      const kid = personalKid(orgId, at);
      await keys.ensure(kid);
      return JSON.stringify(await seal(clear, { stream, type, path: pathOf(name) }, kid));
    },
    reader: () => {
      const openers = new Map<string, Promise<OpenSealed | undefined>>();
      return async (text, { stream, type, name }) => {
        const secret = sealedIn(text);
        if (!secret) return undefined;
        const looked = openers.get(secret.kid) ?? keys.opener(secret.kid);
        openers.set(secret.kid, looked);
        const open = await looked;
        try {
          return open?.(secret, { stream, type, path: pathOf(name) });
        } catch {
          // Shredded while the month ran, which made a new key with its name: as gone as without a key.
          return undefined;
        }
      };
    },
  };
}

function sealedIn(text: string) {
  try {
    const value: unknown = JSON.parse(text);
    return isSealed(value) ? value : undefined;
  } catch {
    return undefined; // Written by something else: there is nothing to show.
  }
}

/** Tells two programs of one token apart without naming them. */
export const userAgentHash = (userAgent: string): string => createHash('sha256').update(userAgent).digest('hex');
