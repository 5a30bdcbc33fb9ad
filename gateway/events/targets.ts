/** Where events may be sent now: stored webhooks and handlers that hold an address, with their secrets in clear, in memory only. */
import type { ApiDefinition, ApiDocument } from '../../domain/api/definition.ts';
import { durationMs } from '../../domain/api/duration.ts';
import type { EventHandler, WebhookHandler } from '../../domain/api/event-handlers.ts';
import { readDefinition } from '../../domain/api/oas.ts';
import type { JsonObject } from '../../domain/event.ts';
import { isObject, textAt } from '../../domain/json.ts';
import { mask } from '../../domain/secret-places.ts';
import {
  type ApiObject,
  type GatewaySnapshot,
  objectKey,
  type WebhookObject,
} from '../../projections/gateway-snapshot.ts';

/** `off`: switched off. `closed`: something of it is not on this node, such as a secret, and nothing is sent without that. */
type TargetState = 'on' | 'off' | 'closed';

export type TargetAddress = {
  readonly state: TargetState;
  /** As the document of a stored webhook, with its secrets. */
  readonly document: JsonObject;
  /** Whose events it gets; empty: everybody's. */
  readonly orgId: string;
  readonly cooldownMs: number;
};

/** Opens what this node can open of the secrets of an object. */
export type Reveal = (object: ApiObject | WebhookObject) => {
  readonly document: JsonObject;
  readonly missing: readonly string[];
};

/** An API that runs, and what it was made of. */
export type RunningApi = { readonly object: ApiObject; readonly definition: ApiDefinition };

/** A webhook is one target, however many handlers name it. `apiId` is empty for handlers of the node itself. */
export const targetOf = (handler: WebhookHandler, apiId: string): string =>
  handler.type === 'stored' ? stored + handler.webhookId : `handler:${apiId}:${handler.key}`;

const stored = 'webhook:';

/** `headOf`: the OpenAPI form of an API, whatever it was written in. */
export type TargetDocuments = { readonly reveal: Reveal; readonly headOf: (document: ApiDocument) => ApiDocument };

export class TargetAddresses {
  readonly #reveal: Reveal;
  readonly #headOf: TargetDocuments['headOf'];
  readonly #ofNode: ReadonlyMap<string, TargetAddress>;
  #inline: Map<string, TargetAddress>;
  #objects: GatewaySnapshot['objects'] = {};
  #running: ReadonlySet<string> = new Set();
  /** By target: the API whose handler lacks a secret. */
  #closed = new Map<string, RunningApi>();
  /** Stored ones, as far as somebody has asked for them since the last swap. */
  #stored = new Map<string, TargetAddress | undefined>();

  constructor(ofNode: readonly EventHandler[], { reveal, headOf }: TargetDocuments) {
    this.#reveal = reveal;
    this.#headOf = headOf;
    this.#ofNode = new Map(inlineTargets(ofNode, '', ''));
    this.#inline = new Map(this.#ofNode);
  }

  swap(apis: Iterable<RunningApi>, objects: GatewaySnapshot['objects']): void {
    this.#objects = objects;
    this.#stored = new Map();
    this.#closed = new Map();
    this.#inline = new Map(this.#ofNode);
    const running = new Set<string>();
    this.#running = running;
    for (const api of apis) {
      running.add(api.definition.apiId);
      for (const [target, address] of inlineTargetsOf(api.definition)) {
        this.#inline.set(target, address);
        if (address.state === 'closed') this.#closed.set(target, api);
      }
    }
  }

  find(target: string): TargetAddress | undefined {
    if (!target.startsWith(stored)) {
      this.#open(target);
      return this.#inline.get(target) ?? this.#heldBack(target);
    }
    if (!this.#stored.has(target)) this.#stored.set(target, this.#read(target.slice(stored.length)));
    return this.#stored.get(target);
  }

  /** An API runs without the secrets of its handlers: they may have come after it, and are looked for once per swap. */
  #open(target: string): void {
    const api = this.#closed.get(target);
    if (!api) return;
    const { apiId, orgId, kind } = api.definition;
    const document = this.#headOf(this.#reveal(api.object).document);
    const { definition } = readDefinition(document, { apiId, orgId, kind });
    for (const [name, address] of inlineTargetsOf(definition)) {
      if (this.#closed.delete(name)) this.#inline.set(name, address);
    }
    this.#closed.delete(target);
  }

  /** An API that is there and does not run, since this start, may run again with its handlers. */
  #heldBack(target: string): TargetAddress | undefined {
    const [, apiId = ''] = target.split(':');
    if (this.#running.has(apiId) || !this.#objects[objectKey('api', apiId)]) return undefined;
    return { state: 'closed', document: {}, orgId: '', cooldownMs: 0 };
  }

  /** Of every target that has one; no part of them is secret. */
  get bodyTemplates(): readonly (readonly [target: string, bodyTemplate: string])[] {
    const webhooks = Object.values(this.#objects).flatMap((object) =>
      object.kind === 'webhook' ? [[stored + object.id, object.body.document] as const] : [],
    );
    const inline = [...this.#inline].map(([target, { document }]) => [target, document] as const);
    return [...inline, ...webhooks].flatMap(([target, document]) => {
      const bodyTemplate = textAt(document, 'bodyTemplate') ?? '';
      return bodyTemplate === '' ? [] : [[target, bodyTemplate] as const];
    });
  }

  #read(webhookId: string): TargetAddress | undefined {
    const object = this.#objects[objectKey('webhook', webhookId)];
    if (object?.kind !== 'webhook') return undefined;
    const { document, missing } = this.#reveal(object);
    const isOff = document['enabled'] === false;
    return {
      state: isOff ? 'off' : missing.length > 0 ? 'closed' : 'on',
      ...{ document, orgId: object.body.orgId },
      cooldownMs: durationMs(textAt(document, 'cooldownPeriod') ?? '') ?? 0,
    };
  }
}

const inlineTargetsOf = ({ eventHandlers, apiId, orgId }: ApiDefinition) => inlineTargets(eventHandlers, apiId, orgId);

const inlineTargets = (handlers: readonly EventHandler[], apiId: string, orgId: string) =>
  handlers.flatMap((handler): readonly (readonly [string, TargetAddress])[] => {
    if (handler.type !== 'inline') return [];
    const { target: document, cooldownMs = 0 } = handler;
    const state = isMasked(document) ? 'closed' : 'on';
    return [[targetOf(handler, apiId), { state, document, orgId, cooldownMs }]];
  });

/** A mask stands where a secret did not open. */
export function isMasked({ url, secret, headers }: JsonObject): boolean {
  const values = (Array.isArray(headers) ? headers : []).map((header) => (isObject(header) ? header['value'] : ''));
  return [secret, ...values].includes(mask) || String(url).includes(`${mask}@`);
}
