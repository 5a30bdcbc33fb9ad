/** Secrets of objects in memory: opened as objects come in, handed out when an API is compiled, and never written anywhere. */
import { setImmediate as turn } from 'node:timers/promises';
import type { ApiDocument } from '../../domain/api/definition.ts';
import { isNeeded } from '../../domain/api/secret-fields.ts';
import { type HeldSecret, kidOf, revealed, type SealedSecrets } from '../../domain/document-secrets.ts';
import { pathOf } from '../../domain/secret-places.ts';
import { type GatewayObject, type GatewaySnapshot, objectKey } from '../../projections/gateway-snapshot.ts';
import type { Log } from '../ports.ts';
import type { Feed } from './feed.ts';
import type { Generation } from './generation.ts';
import type { Generations } from './generations.ts';
import type { NodeBox } from './node-box.ts';
import type { NodeKey } from './node-key.ts';
import { type OpenedObject, secretsOf, streamOf, withheldOf } from './object-secrets.ts';
import type { NodeSecrets } from './signed.ts';

/** Opens what an event on a stream has sealed. One whose key is gone, or that was changed, comes without its text. */
export type OpenSecrets = (stream: string, sealed: SealedSecrets) => Promise<readonly HeldSecret[]>;

export type VaultOptions = {
  /** The ring, in the process of management. */
  readonly open?: OpenSecrets | undefined;
  /** The key of this node, in a process of its own. Without both nothing is ever opened. */
  readonly key?: NodeKey | undefined;
  readonly log: Log;
};

/** Boxes by object and event, and the log that they are of. */
type Boxes = { readonly logId: string; readonly byPlace: ReadonlyMap<string, NodeBox> };

/** Of an answer what is about secrets. */
type Answered = { readonly logId: string; readonly secrets?: NodeSecrets };

/** What a box held. */
type Boxed = { readonly box: NodeBox; readonly clear: ReadonlyMap<string, string> };

/** Between two turns of the process. */
const busyMs = 10;

export class Vault {
  readonly #open: OpenSecrets | undefined;
  readonly #key: NodeKey | undefined;
  readonly #log: Log;
  /** By the name of the data key: one name, one secret. */
  #clear: ReadonlyMap<string, string> = new Map();
  /** By object and event. */
  #boxed: ReadonlyMap<string, Boxed> = new Map();
  #opened = 0;

  constructor({ open, key, log }: VaultOptions) {
    this.#open = open;
    this.#key = key;
    this.#log = log;
  }

  /** Grows when something was opened that was closed before. */
  get opened(): number {
    return this.#opened;
  }

  /** Rejects when it cannot be told whether a secret opens: what runs goes on, and it is tried again. */
  async take(objects: Iterable<GatewayObject>, boxes?: Boxes): Promise<void> {
    const clear = new Map<string, string>();
    const boxed = new Map<string, Boxed>();
    const closed: string[] = [];
    let sinceMs = performance.now();
    for (const object of objects) {
      // Of a hundred thousand most have none.
      if (!hasSecrets(object)) continue;
      for (const [kid, text] of await this.#fromRing(object)) clear.set(kid, text);
      const found = boxes && this.#fromBox(object, boxes);
      if (found === 'closed') closed.push(placeOf(object));
      else if (found) boxed.set(nameOf(object), found);
      if (performance.now() - sinceMs < busyMs) continue;
      await turn();
      sinceMs = performance.now();
    }
    this.#opened += clear.size + boxed.size;
    if (clear.size > 0) this.#clear = new Map([...this.#clear, ...clear]);
    if (boxed.size > 0) this.#boxed = new Map([...this.#boxed, ...boxed]);
    if (closed.length > 0) {
      const some = closed.slice(0, maxNamed);
      this.#log.error('secrets that were sealed for this node do not open', { count: closed.length, objects: some });
    }
  }

  /** Forgets what no object has any more. */
  keepOnly(objects: Iterable<GatewayObject>): void {
    if (this.#clear.size + this.#boxed.size === 0) return;
    const all = [...objects].filter(hasSecrets);
    const kids = new Set(all.flatMap((object) => (secretsOf(object)?.secrets ?? []).map(kidOf)));
    const names = new Set(all.map(nameOf));
    this.#clear = only(this.#clear, kids);
    this.#boxed = only(this.#boxed, names);
  }

  /** The document to run. `missing`: places whose secret the object needs and this node does not have. */
  reveal(object: OpenedObject): { readonly document: ApiDocument; readonly missing: readonly string[] } {
    const { document, sealed } = object.body;
    const boxed = this.#boxed.get(nameOf(object));
    const places = [
      ...(sealed?.secrets ?? []).map((one) => ({ pointer: one.pointer, clear: this.#clear.get(kidOf(one)) })),
      ...withheldOf(object).map((pointer) => ({ pointer, clear: boxed?.clear.get(pointer) })),
    ];
    const closed = places.flatMap(({ pointer, clear }) => (clear === undefined ? [pointer] : []));
    // All of a webhook is sent.
    const missing = object.kind === 'api' ? closed.filter((pointer) => isNeeded(document, pathOf(pointer))) : closed;
    const known = places.flatMap(({ pointer, clear }) => (clear === undefined ? [] : [{ pointer, clear }]));
    return { document: revealed(document, known), missing };
  }

  /** The feed, with the secrets of what it brings opened before anybody sees it. */
  behind(feed: Feed): Feed {
    return {
      report: (report) => feed.report(report),
      snapshot: async (signal) => {
        const snapshot = await feed.snapshot(signal);
        const objects = objectsOf(snapshot);
        this.#sayWithheld(objects, snapshot);
        await this.take(objects, this.#boxesOf(snapshot));
        return snapshot;
      },
      changes: async (after, signal) => {
        const answer = await feed.changes(after, signal);
        if (answer && 'changes' in answer && Array.isArray(answer.changes)) {
          const objects = answer.changes.flatMap((change) => (change.op === 'upsert' ? [change.object] : []));
          await this.take(objects, this.#boxesOf({ ...answer, logId: after.logId }));
        }
        return answer;
      },
    };
  }

  /** The same for what the disk has. A ring that does not answer costs the APIs that need it, not the start. */
  behindDisk(generations: Generations): Generations {
    return {
      save: (generation) => generations.save({ ...generation, boxes: this.#boxesFor(generation.kept) }),
      confirm: (nowMs) => generations.confirm(nowMs),
      load: async () => {
        const generation = await generations.load();
        if (generation) {
          const { snapshot, kept } = generation;
          await this.take([...objectsOf(snapshot), ...Object.values(kept)], this.#boxesOn(generation)).catch(
            (error: unknown) => this.#log.error('secrets of the configuration on disk do not open', { error }),
          );
        }
        return generation;
      },
    };
  }

  #sayWithheld(objects: readonly GatewayObject[], { secrets }: Answered): void {
    if (!this.#key || secrets || !objects.some((object) => withheldOf(object).length > 0)) return;
    const { node } = this.#key;
    this.#log.warn('management gives this node no secrets: gateway.node_token belongs to no gateway', { node });
  }

  async #fromRing(object: GatewayObject): Promise<readonly (readonly [string, string])[]> {
    const sealed = secretsOf(object);
    if (!this.#open || !sealed || sealed.secrets.every((secret) => this.#clear.has(kidOf(secret)))) return [];
    const opened = await this.#open(streamOf(object), sealed);
    return opened.flatMap(({ kid, clear }) => (clear === undefined ? [] : [[kid, clear] as const]));
  }

  /** Undefined where there is nothing to open, or where it is open. One that does not costs what needs it, no more. */
  #fromBox(object: GatewayObject, { logId, byPlace }: Boxes): Boxed | 'closed' | undefined {
    const name = nameOf(object);
    const box = byPlace.get(placeOf(object));
    if (!this.#key || !box || this.#boxed.has(name) || withheldOf(object).length === 0) return undefined;
    const { kind, id, position } = object;
    try {
      const opened = this.#key.open({ logId, era: box.era, kind, id, position }, box);
      return { box, clear: new Map(opened.map(({ pointer, clear }) => [pointer, clear])) };
    } catch {
      return 'closed';
    }
  }

  #boxesOf({ logId, secrets }: Answered): Boxes {
    return { logId, byPlace: new Map(this.#entriesOf(secrets)) };
  }

  #boxesOn({ snapshot, provenance, boxes = {} }: Generation): Boxes {
    const told = [provenance?.base.secrets, ...(provenance?.steps ?? []).map(({ secrets }) => secrets)];
    const entries = told.flatMap((secrets) => this.#entriesOf(secrets));
    return { logId: snapshot.logId, byPlace: new Map([...placedBoxes(boxes), ...entries]) };
  }

  /** What was sealed for another key does not open: this node had another one, or another name. */
  #entriesOf(secrets: NodeSecrets | undefined): readonly (readonly [string, NodeBox])[] {
    if (!secrets || !this.#key) return [];
    const { node, keyId } = this.#key;
    if (secrets.node === node && secrets.recipient === keyId) return placedBoxes(secrets.boxes);
    this.#log.warn('secrets were sealed for another key than that of this node', {
      ...{ node: secrets.node, keyId: secrets.recipient, ownKeyId: keyId },
    });
    return [];
  }

  /** What runs in place of rejected objects stands in no answer any more: its boxes are kept with it. */
  #boxesFor(kept: Generation['kept']): Readonly<Record<string, NodeBox>> {
    const found = Object.entries(kept).flatMap(([key, object]) => {
      const boxed = this.#boxed.get(nameOf(object));
      return boxed ? [[key, boxed.box] as const] : [];
    });
    return Object.fromEntries(found);
  }
}

/** So many objects are named in one line of the log. */
const maxNamed = 10;

const hasSecrets = (object: GatewayObject): boolean => secretsOf(object) !== undefined || withheldOf(object).length > 0;

/** What an answer calls the box of an object. */
const placeOf = ({ kind, id, position }: GatewayObject): string => `${objectKey(kind, id)}@${position}`;

/** The digest changes with each secret; positions begin anew in another era. */
const nameOf = (object: GatewayObject): string => `${placeOf(object)} ${object.sha256}`;

const placedBoxes = (boxes: NodeSecrets['boxes']): readonly (readonly [string, NodeBox])[] =>
  Object.entries(boxes).map(([key, box]) => [`${key}@${box.position}`, box]);

const only = <Value>(map: ReadonlyMap<string, Value>, names: ReadonlySet<string>): ReadonlyMap<string, Value> =>
  [...map.keys()].every((name) => names.has(name)) ? map : new Map([...map].filter(([name]) => names.has(name)));

/** What is malformed is refused by those who read it. */
const objectsOf = (snapshot: GatewaySnapshot | Generation['snapshot']): readonly GatewayObject[] =>
  typeof snapshot?.objects === 'object' && snapshot.objects !== null
    ? Object.values(snapshot.objects).filter((object) => typeof object?.body === 'object' && object.body !== null)
    : [];
