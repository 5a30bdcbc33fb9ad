/** A feed in the memory of a test: APIs are put, removed, and answers can be broken on purpose. */
import { createHash } from 'node:crypto';
import type { ApiDocument, ApiKind } from '../../domain/api/definition.ts';
import type { SealedSecrets } from '../../domain/document-secrets.ts';
import type { JsonObject } from '../../domain/event.ts';
import { type ReloadScope, scopeName } from '../../domain/gateway-group.ts';
import { toOrgId } from '../../domain/ids.ts';
import { defaultTerms, type OrganisationTerms } from '../../domain/organisation.ts';
import type { Feed, FeedAnswer, FeedPlace, GatewayReport } from '../../gateway/feed/feed.ts';
import { entriesOf, type HeldSnapshot } from '../../gateway/feed/held.ts';
import {
  applyChanges,
  type GatewayChange,
  type GatewayObject,
  type GatewaySnapshot,
  type KeyObject,
  type KeyQuota,
  type OrganisationObject,
  type PolicyObject,
  type WebhookObject,
} from '../../projections/gateway-snapshot.ts';

/** What a gateway knows a key by. */
export const keyId = (key: string): string => createHash('sha256').update(key).digest('hex');

/** All that a gateway holds, as it came. */
export const whole = (held: HeldSnapshot): GatewaySnapshot => {
  const { keys: _, ...rest } = held;
  return { ...rest, objects: Object.fromEntries(entriesOf(held)) };
};

export const positionText = (number: number): string => String(number).padStart(20, '0');

type Given<Object extends GatewayObject> = Pick<Object, 'kind' | 'id' | 'body'>;

type WebhookParts = { readonly orgId?: string; readonly sealed?: SealedSecrets };

type KeyTraits = { readonly orgId?: string; readonly createdAt?: string; readonly quota?: KeyQuota };

const madeAt = '2026-01-01T00:00:00.000Z';

export class MemoryFeed implements Feed {
  readonly reports: GatewayReport[] = [];
  #changes: GatewayChange[] = [];
  #snapshot: GatewaySnapshot;
  #number = 0;
  #ring = Promise.withResolvers<void>();
  #revisions = new Map<string, number>();
  /** Stand in for the real answers while they are set. */
  breakSnapshot: (() => unknown) | undefined;
  breakChanges: (() => unknown) | undefined;

  constructor(logId = 'log-1', era = 1) {
    this.#snapshot = { format: 2, logId, era, position: '', revision: '', objects: {} };
  }

  get current(): GatewaySnapshot {
    return this.#snapshot;
  }

  /** Answers the position of the change. */
  put(id: string, document: ApiDocument, apiKind: ApiKind = 'oas', orgId = 'acme', sealed?: SealedSecrets): string {
    const revision = (this.#revisions.get(id) ?? -1) + 1;
    this.#revisions.set(id, revision);
    const position = this.#next();
    const object: GatewayObject = {
      kind: 'api',
      id,
      revision: String(revision),
      position,
      sha256: createHash('sha256').update(JSON.stringify(document)).digest('hex'),
      body: { orgId: toOrgId(orgId), apiKind, document, ...(sealed ? { sealed } : {}) },
    };
    return this.#add({ op: 'upsert', position, object });
  }

  remove(id: string): string {
    return this.#add({ op: 'remove', position: this.#next(), kind: 'api', id });
  }

  /** Somebody asks gateways to reload. */
  reload(reloadId: string, scope: ReloadScope): string {
    const position = this.#next();
    const id = scopeName(scope);
    const object = { id, revision: '0', position, sha256: '', body: { orgId: toOrgId('acme'), reloadId, scope } };
    return this.#add({ op: 'upsert', position, object: { kind: 'reload', ...object } });
  }

  /** Somebody asks gateways to forget the kept answers of an API. */
  flushCache(id: string): string {
    const position = this.#next();
    const object = { id, revision: '0', position, sha256: '', body: { orgId: toOrgId('acme'), flushId: position } };
    return this.#add({ op: 'upsert', position, object: { kind: 'cache-flush', ...object } });
  }

  /** An access key, by its text. */
  putKey(key: string, document: JsonObject, { orgId = 'acme', createdAt = madeAt, quota }: KeyTraits = {}): string {
    const counted = quota ? { quota } : {};
    const body = { orgId: toOrgId(orgId), createdAt, document, ...counted };
    return this.#upsert({ kind: 'key', id: keyId(key), body });
  }

  putOrganisation(terms: Partial<OrganisationTerms>, id = 'acme'): string {
    const body = { orgId: toOrgId(id), terms: { name: id, ...defaultTerms, ...terms } };
    return this.#upsert({ kind: 'organisation', id, body });
  }

  removeKey(key: string): string {
    return this.#add({ op: 'remove', position: this.#next(), kind: 'key', id: keyId(key) });
  }

  putPolicy(id: string, document: JsonObject, orgId = 'acme'): string {
    return this.#upsert({ kind: 'policy', id, body: { orgId: toOrgId(orgId), document } });
  }

  removePolicy(id: string): string {
    return this.#add({ op: 'remove', position: this.#next(), kind: 'policy', id });
  }

  putWebhook(id: string, document: JsonObject, { orgId = 'acme', sealed }: WebhookParts = {}): string {
    return this.#upsert({
      kind: 'webhook',
      id,
      body: { orgId: toOrgId(orgId), document, ...(sealed ? { sealed } : {}) },
    });
  }

  removeWebhook(id: string): string {
    return this.#add({ op: 'remove', position: this.#next(), kind: 'webhook', id });
  }

  /** Somebody asks for dead letters again. */
  redeliver(webhookId: string, ids: readonly string[] | 'all'): string {
    const position = this.#next();
    const before = this.#snapshot.objects[`redelivery:${webhookId}`];
    const earlier = before?.kind === 'redelivery' ? before.body.requests : [];
    const requests = [...earlier, { position, redeliveryId: position, ids }];
    const object = { id: webhookId, revision: '0', position, sha256: '', body: { orgId: toOrgId('acme'), requests } };
    return this.#add({ op: 'upsert', position, object: { kind: 'redelivery', ...object } });
  }

  /** The log moves on without a change of the configuration. */
  idle(): string {
    const position = this.#next();
    this.#snapshot = { ...this.#snapshot, position };
    this.#wake();
    return position;
  }

  async snapshot(): Promise<GatewaySnapshot> {
    return (this.breakSnapshot ? this.breakSnapshot() : this.#snapshot) as GatewaySnapshot;
  }

  async changes({ position: after }: FeedPlace, signal: AbortSignal): Promise<FeedAnswer> {
    while (this.#snapshot.position <= after && !this.breakChanges && !signal.aborted) {
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      await Promise.race([this.#ring.promise, aborted]);
    }
    if (this.breakChanges) return this.breakChanges() as FeedAnswer;
    return { changes: this.#changes.filter(({ position }) => position > after), next: this.#snapshot.position };
  }

  async report(report: GatewayReport): Promise<void> {
    this.reports.push(report);
  }

  #upsert(given: Given<KeyObject> | Given<PolicyObject> | Given<WebhookObject> | Given<OrganisationObject>): string {
    const position = this.#next();
    const revision = (this.#revisions.get(given.id) ?? -1) + 1;
    this.#revisions.set(given.id, revision);
    const object = { ...given, revision: String(revision), position, sha256: `${given.id}-${revision}` };
    return this.#add({ op: 'upsert', position, object });
  }

  #next(): string {
    this.#number++;
    return positionText(this.#number);
  }

  #add(change: GatewayChange): string {
    this.#changes = [...this.#changes, change];
    this.#snapshot = applyChanges(this.#snapshot, [change], change.position);
    this.#wake();
    return change.position;
  }

  #wake(): void {
    this.#ring.resolve();
    this.#ring = Promise.withResolvers<void>();
  }
}
