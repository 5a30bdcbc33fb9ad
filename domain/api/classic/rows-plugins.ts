/** Plugins and event handlers in both written forms (plugins design 10, api-definition design 14.1). */
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, textAt, withoutMember } from '../../json.ts';
import {
  classicBy,
  disabledBy,
  each,
  get,
  oasBy,
  opposite,
  pairs,
  type Row,
  row,
  same,
  seconds,
  withoutUndefined,
} from './row.ts';

const global = 'middleware/global';

/** What is not switched off is on. */
const switchedOn: Row = {
  ...opposite('disabled', 'enabled'),
  toOas: (entry) => get(entry, 'disabled') !== true,
};

const entry: readonly Row[] = [
  switchedOn,
  same('name', 'functionName'),
  same('path', 'path'),
  same('raw_body_only', 'rawBodyOnly'),
  same('require_session', 'requireSession'),
];

const hooks: readonly Row[] = [
  each('custom_middleware/pre', `${global}/prePlugins`, entry),
  each('custom_middleware/post_key_auth', `${global}/postAuthenticationPlugins`, entry),
  each('custom_middleware/post', `${global}/postPlugins`, entry),
  each('custom_middleware/response', `${global}/responsePlugins`, entry),
];

const configuration: readonly Row[] = [
  same('custom_middleware/driver', `${global}/pluginConfig/driver`),
  disabledBy('custom_middleware_bundle_disabled', `${global}/pluginConfig/bundle/enabled`, {
    classic: ['custom_middleware_bundle'],
    oas: [`${global}/pluginConfig/bundle/path`],
  }),
  {
    ...same('custom_middleware_bundle', `${global}/pluginConfig/bundle/path`),
    // A block of which only the switch was written has a path all the same: it must.
    toOas: (classic) =>
      get(classic, 'custom_middleware_bundle') ??
      (get(classic, 'custom_middleware_bundle_disabled') === undefined ? undefined : ''),
  },
  disabledBy('config_data_disabled', `${global}/pluginConfig/data/enabled`, {
    classic: ['config_data'],
    oas: [`${global}/pluginConfig/data/value`],
  }),
  {
    ...same('config_data', `${global}/pluginConfig/data/value`),
    toOas: (classic) =>
      get(classic, 'config_data') ?? (get(classic, 'config_data_disabled') === undefined ? undefined : {}),
  },
];

type HandlerKind = { readonly handler: string; readonly type: string; readonly rows: readonly Row[] };

const kinds: readonly HandlerKind[] = [
  {
    handler: 'eh_web_hook_handler',
    type: 'webhook',
    rows: [
      switchedOn,
      same('id', 'id'),
      same('name', 'name'),
      same('method', 'method'),
      same('target_path', 'url'),
      same('template_path', 'bodyTemplate'),
      pairs('header_map', 'headers', 'name', 'value'),
      seconds('event_timeout', 'cooldownPeriod'),
      same('secret', 'secret'),
    ],
  },
  {
    handler: 'eh_log_handler',
    type: 'log',
    rows: [switchedOn, same('id', 'id'), same('name', 'name'), same('prefix', 'logPrefix')],
  },
  {
    handler: 'eh_dynamic_handler',
    type: 'custom',
    rows: [switchedOn, same('id', 'id'), same('name', 'functionName'), same('path', 'path')],
  },
  {
    handler: 'cp_dynamic_handler',
    type: 'plugin',
    rows: [switchedOn, same('id', 'id'), same('name', 'functionName')],
  },
];

export const handlerNames: readonly string[] = kinds.map(({ handler }) => handler);

/** A handler of a kind that nobody knows is switched off; the report says that it is lost. */
function handlerToOas(trigger: string, handler: Json): Json {
  const name = textAt(handler, 'handler_name') ?? '';
  const kind = kinds.find((one) => one.handler === name);
  if (!kind) return { enabled: false, trigger, type: name };
  const made = oasBy(kind.rows, at(handler, 'handler_meta') ?? {});
  return isObject(made) ? { ...made, trigger, type: kind.type } : made;
}

function handlerToClassic(handler: Json): readonly [string, JsonObject] | undefined {
  if (!isObject(handler)) return undefined;
  const kind = kinds.find(({ type }) => type === handler['type']);
  const meta = kind ? classicBy(kind.rows, handler) : withoutMember(handler, 'trigger');
  const name = kind?.handler ?? textAt(handler, 'type') ?? '';
  return [textAt(handler, 'trigger') ?? '', withoutUndefined({ handler_name: name, handler_meta: meta })];
}

const events: Row = row(
  'event_handlers/events',
  'server/eventHandlers',
  (map) =>
    isObject(map)
      ? Object.entries(map).flatMap(([trigger, list]) =>
          Array.isArray(list) ? list.map((handler: Json) => handlerToOas(trigger, handler)) : [],
        )
      : map,
  (list) => {
    if (!Array.isArray(list)) return list;
    const handlers = list.map(handlerToClassic).filter((one) => one !== undefined);
    const byTrigger = Object.groupBy(handlers, ([trigger]) => trigger);
    return Object.fromEntries(
      Object.entries(byTrigger).map(([trigger, own]) => [trigger, (own ?? []).map(([, handler]) => handler)]),
    );
  },
);

export const pluginRows: readonly Row[] = [...configuration, ...hooks, events];
