/** Reads event handlers, of a definition or of the configuration of a gateway, into what a gateway runs (api-definition design 14.1). */
import type { Json, JsonObject } from '../event.ts';
import { isObject, isOn, textAt } from '../json.ts';
import { isWebhookTrigger, type WebhookTrigger } from '../webhook-body.ts';
import { durationMs } from './duration.ts';

type Handler = {
  readonly trigger: WebhookTrigger;
  /** Tells it apart from its neighbours, also when the list is sorted anew. */
  readonly key: string;
};

type LogHandler = Handler & { readonly type: 'log'; readonly prefix: string };

/** `cooldownMs`: absent when the handler says nothing about it. */
export type WebhookHandler = Handler & { readonly cooldownMs?: number } & (
    | { readonly type: 'stored'; readonly webhookId: string }
    /** `target`: as the document of a stored webhook. */
    | { readonly type: 'inline'; readonly target: JsonObject }
  );

export type EventHandler = LogHandler | WebhookHandler;

/** Those that are switched on and that a gateway can run, in the order of the list. */
export function readEventHandlers(list: Json | undefined): readonly EventHandler[] {
  const taken = new Set<string>();
  const next = new Map<string, number>();
  const keyOf = (label: string): string => {
    let number = next.get(label) ?? 0;
    const key = (): string => (number === 0 ? label : `${label} ${number}`);
    while (taken.has(key())) number++;
    next.set(label, number + 1);
    taken.add(key());
    return key();
  };
  return (Array.isArray(list) ? list : []).flatMap((handler: Json): readonly EventHandler[] => {
    const trigger = textAt(handler, 'trigger') ?? '';
    if (!isObject(handler) || !isOn(handler) || !isWebhookTrigger(trigger)) return [];
    const read = readHandler(handler, { trigger, key: keyOf(`${trigger} ${labelOf(handler)}`) });
    return read ? [read] : [];
  });
}

function readHandler(handler: JsonObject, common: Handler): EventHandler | undefined {
  const type = textAt(handler, 'type');
  if (type === 'log') return { ...common, type, prefix: textAt(handler, 'logPrefix') ?? '' };
  if (type !== 'webhook') return undefined;
  const cooldown = durationMs(textAt(handler, 'cooldownPeriod') ?? '');
  const cooling = cooldown === undefined ? {} : { cooldownMs: cooldown };
  if (!textAt(handler, 'url')) {
    return { ...common, ...cooling, type: 'stored', webhookId: textAt(handler, 'id') ?? '' };
  }
  const { url = '', method, headers = [], secret = '' } = handler;
  const bodyTemplate = textAt(handler, 'bodyTemplate');
  const target = { url, method: method || 'POST', headers, secret, ...(bodyTemplate ? { bodyTemplate } : {}) };
  return { ...common, ...cooling, type: 'inline', target };
}

/** By its name; without one by where it sends to. Not by the path: there are receivers whose path is all that they ask for. */
function labelOf(handler: JsonObject): string {
  const name = textAt(handler, 'name');
  if (name) return name;
  const url = URL.parse(textAt(handler, 'url') ?? '');
  return url ? url.origin : '';
}
