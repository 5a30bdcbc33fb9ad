/** Personal data in the metadata of events: the caller's address, sealed with a key per organisation and month. */
import { createHash } from 'node:crypto';
import type { OrgId } from '../../domain/ids.ts';
import { type HeldSecrets, isSealed, type Seal } from './held-secrets.ts';

/** The part of the key ring that is asked for keys by name. */
export type NamedKeys = {
  /** Makes the key with this name unless the ring has it. */
  ensure(kid: string): Promise<void>;
};

/** Which event the data belongs to. */
type EventPlace = { readonly stream: string; readonly type: string };

export type PersonalData = {
  /** The address as text for the metadata of one event; it opens at that event only. */
  seal(address: string, about: EventPlace & { readonly orgId: OrgId; readonly at: Date }): Promise<string>;
  /** The address; undefined once the key of its month is gone. */
  open(text: string, about: EventPlace): Promise<string | undefined>;
};

/** Where the address stands in the event; part of what is authenticated. */
const path = 'meta.ip';

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

export function createPersonalData(seal: Seal, keys: NamedKeys, secrets: HeldSecrets): PersonalData {
  return {
    seal: async (address, { orgId, at, stream, type }) => {
      const kid = personalKid(orgId, at);
      await keys.ensure(kid);
      return JSON.stringify(await seal(address, { stream, type, path }, kid));
    },
    open: async (text, { stream, type }) => {
      const secret = sealedIn(text);
      if (!secret || !(await secrets.has(secret.kid))) return undefined;
      try {
        return await secrets.open(secret, { stream, type, path });
      } catch {
        // Shredded while the month ran, which made a new key with its name: as gone as without a key.
        return undefined;
      }
    },
  };
}

function sealedIn(text: string) {
  try {
    const value: unknown = JSON.parse(text);
    return isSealed(value) ? value : undefined;
  } catch {
    return undefined; // Written by something else: there is no address to show.
  }
}

/** Node writes IPv4 addresses of a dual-stack socket as IPv6. */
export const plainAddress = (address: string | undefined): string | undefined =>
  address?.replace(/^::ffff:(?=\d+\.)/i, '');

/** Tells two programs of one token apart without naming them. */
export const userAgentHash = (userAgent: string): string => createHash('sha256').update(userAgent).digest('hex');
