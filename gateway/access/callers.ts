/** Who calls and what is counted of them, by the configuration of the moment: sessions of access keys, terms of organisations, counters that are still asked for. */
import type { OrgId } from '../../domain/ids.ts';
import type { KeyUse } from '../../domain/key-use.ts';
import type { GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import type { Clock, Counters, Log } from '../ports.ts';
import { quotaOwner } from './key-limits.ts';
import { KeyTable } from './key-table.ts';
import { KeyUses } from './key-uses.ts';
import { Organisations, type RunningOrganisation } from './organisations.ts';
import type { KeySession } from './session.ts';
import { Sessions } from './sessions.ts';

type Configuration = { readonly keys: KeyTable; readonly objects: GatewaySnapshot['objects'] };

export type CallersOptions = { readonly log: Log; readonly clock: Clock; readonly counters: Counters };

/** Counters of keys that are gone, or began anew, are looked for no sooner than this after the last time. */
const tidyEveryMs = 60_000;

export class Callers {
  readonly #options: CallersOptions;
  readonly #sessions: Sessions;
  readonly #organisations = new Organisations();
  readonly #uses: KeyUses;
  #keys: KeyTable = KeyTable.of([]);
  #nextTidyMs = 0;

  constructor(options: CallersOptions) {
    this.#options = options;
    this.#sessions = new Sessions(options.log);
    this.#uses = new KeyUses(options);
  }

  /** From here on this configuration counts, also for requests that began with the one before. */
  swap(configuration: Configuration): void {
    this.#keys = configuration.keys;
    this.#sessions.swap(configuration);
    this.#organisations.swap(configuration.objects);
    const { clock, counters } = this.#options;
    const nowMs = clock.monotonic();
    if (nowMs < this.#nextTidyMs) return;
    this.#nextTidyMs = nowMs + tidyEveryMs;
    counters.retain((counter) => this.#isCounted(counter));
  }

  /** A revoked key lets nobody in any more, whatever table the request began with. */
  readonly lookUpKey = (credential: string, orgId: OrgId): KeySession | undefined =>
    this.#sessions.find(credential, orgId);

  /** The session of this moment of a key that has let somebody in. */
  readonly sessionOf = (access: KeySession): KeySession | undefined => this.#sessions.current(access);

  readonly organisationOf = (orgId: OrgId): RunningOrganisation => this.#organisations.find(orgId);

  /** A request with this key is over. `atMs`: when it came, ms since 1970. */
  saw(session: KeySession, atMs: number): void {
    this.#uses.saw(session, atMs);
  }

  /** Its part of a report. */
  report(): { readonly keys?: readonly KeyUse[] } {
    const keys = this.#uses.next();
    return keys.length > 0 ? { keys } : {};
  }

  /** Management has taken that. */
  taken({ keys = [] }: { readonly keys?: readonly KeyUse[] }): void {
    this.#uses.taken(keys);
  }

  #isCounted(counter: string): boolean {
    const owner = quotaOwner(counter);
    if (!owner) return true;
    const key = this.#keys.get(owner.keyId);
    const { epoch = '', others = {} } = key?.body.quota ?? {};
    return key !== undefined && [epoch, ...Object.values(others)].includes(owner.epoch);
  }
}
