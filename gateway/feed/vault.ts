/** Secrets of definitions in memory: opened as objects come in, handed out when an API is compiled, and never written anywhere. */
import type { ApiDocument } from '../../domain/api/definition.ts';
import { isNeeded } from '../../domain/api/secret-fields.ts';
import { type HeldSecret, kidOf, revealed, type SealedSecrets } from '../../domain/document-secrets.ts';
import { apiStream, toApiId, toWebhookId, webhookStream } from '../../domain/ids.ts';
import { pathOf } from '../../domain/secret-places.ts';
import type { ApiObject, GatewayObject, GatewaySnapshot, WebhookObject } from '../../projections/gateway-snapshot.ts';
import type { Log } from '../ports.ts';
import type { Feed } from './feed.ts';
import type { Generation } from './generation.ts';
import type { Generations } from './generations.ts';

/** Opens what an event on a stream has sealed. One whose key is gone, or that was changed, comes without its text. */
export type OpenSecrets = (stream: string, sealed: SealedSecrets) => Promise<readonly HeldSecret[]>;

/** What gateways send. Those of access keys belong to schemes that they do not run: they stay closed. */
type Revealing = ApiObject | WebhookObject;

const isRevealing = (object: GatewayObject): object is Revealing => object.kind === 'api' || object.kind === 'webhook';

const neededOf = (object: GatewayObject): SealedSecrets | undefined =>
  isRevealing(object) ? object.body.sealed : undefined;

const streamOf = ({ kind, id }: GatewayObject): string =>
  kind === 'webhook' ? webhookStream(toWebhookId(id)) : apiStream(toApiId(id));

export class Vault {
  readonly #open: OpenSecrets | undefined;
  readonly #log: Log;
  /** By the name of the data key: one name, one secret. */
  #clear: ReadonlyMap<string, string> = new Map();

  /** Without `open` nothing is ever opened: a gateway in a process of its own gets no secrets. */
  constructor(open: OpenSecrets | undefined, log: Log) {
    this.#open = open;
    this.#log = log;
  }

  /** Rejects when it cannot be told whether a secret opens: what runs goes on, and it is tried again. */
  async take(objects: Iterable<GatewayObject>): Promise<void> {
    if (!this.#open) return;
    for (const object of objects) {
      const sealed = neededOf(object);
      if (!sealed || sealed.secrets.every((secret) => this.#clear.has(kidOf(secret)))) continue;
      const opened = await this.#open(streamOf(object), sealed);
      const found = opened.flatMap(({ kid, clear }) => (clear === undefined ? [] : [[kid, clear] as const]));
      this.#clear = new Map([...this.#clear, ...found]);
    }
  }

  /** Forgets what no object has any more. */
  keepOnly(objects: Iterable<GatewayObject>): void {
    const kids = new Set([...objects].flatMap((object) => (neededOf(object)?.secrets ?? []).map(kidOf)));
    if ([...this.#clear.keys()].some((kid) => !kids.has(kid))) {
      this.#clear = new Map([...this.#clear].filter(([kid]) => kids.has(kid)));
    }
  }

  /** The document to run. `missing`: places whose secret the API needs and this node does not have. */
  reveal({ kind, body }: Revealing): { readonly document: ApiDocument; readonly missing: readonly string[] } {
    const { document, sealed, withheld = [] } = body;
    const places = (sealed?.secrets ?? []).map((secret) => {
      const clear = this.#clear.get(kidOf(secret));
      return { pointer: secret.pointer, ...(clear === undefined ? {} : { clear }) };
    });
    const closed = [...withheld, ...places.flatMap(({ pointer, clear }) => (clear === undefined ? [pointer] : []))];
    // All of a webhook is sent.
    const missing = kind === 'api' ? closed.filter((pointer) => isNeeded(document, pathOf(pointer))) : closed;
    return { document: revealed(document, places), missing };
  }

  /** The feed, with the secrets of what it brings opened before anybody sees it. */
  behind(feed: Feed): Feed {
    return {
      report: (report) => feed.report(report),
      snapshot: async (signal) => {
        const snapshot = await feed.snapshot(signal);
        await this.take(objectsOf(snapshot));
        return snapshot;
      },
      changes: async (after, signal) => {
        const answer = await feed.changes(after, signal);
        if (answer && 'changes' in answer && Array.isArray(answer.changes)) {
          await this.take(answer.changes.flatMap((change) => (change.op === 'upsert' ? [change.object] : [])));
        }
        return answer;
      },
    };
  }

  /** The same for what the disk has. A ring that does not answer costs the APIs that need it, not the start. */
  behindDisk(generations: Generations): Generations {
    return {
      save: (generation) => generations.save(generation),
      confirm: (nowMs) => generations.confirm(nowMs),
      load: async () => {
        const generation = await generations.load();
        if (generation) {
          await this.take([...objectsOf(generation.snapshot), ...Object.values(generation.kept)]).catch(
            (error: unknown) => this.#log.error('secrets of the configuration on disk do not open', { error }),
          );
        }
        return generation;
      },
    };
  }
}

/** What is malformed is refused by those who read it. */
const objectsOf = (snapshot: GatewaySnapshot | Generation['snapshot']): readonly GatewayObject[] =>
  typeof snapshot?.objects === 'object' && snapshot.objects !== null
    ? Object.values(snapshot.objects).filter((object) => typeof object?.body === 'object' && object.body !== null)
    : [];
