/** The plugins that a definition switches on, each under a name by which two definitions can be compared. */
import type { Json } from '../event.ts';
import { at, isOn, objectAt, textAt } from '../json.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';

const hooks = [
  { hook: 'pre', list: 'prePlugins', wrapper: 'prePlugin' },
  { hook: 'post_authentication', list: 'postAuthenticationPlugins', wrapper: 'postAuthenticationPlugin' },
  { hook: 'post', list: 'postPlugins', wrapper: 'postPlugin' },
  { hook: 'response', list: 'responsePlugins', wrapper: 'responsePlugin' },
] as const;

const entries = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

/** `<hook> <function> <path>`, `custom_auth …`, `bundle <path>`; of an operation with its key in front. */
export function namedPlugins(document: ApiDocument): readonly string[] {
  const extension = objectAt(document, gatewayExtension);
  const global = at(extension, 'middleware', 'global');
  const lists = hooks.flatMap(({ hook, list, wrapper }) =>
    [...entries(at(global, list)), ...entries(at(global, wrapper, 'plugins'))]
      .filter(isOn)
      .map((entry) => nameOf(hook, entry)),
  );
  const custom = at(extension, 'server', 'authentication', 'custom');
  const bundle = at(global, 'pluginConfig', 'bundle');
  const operations = Object.entries(objectAt(extension, 'middleware', 'operations') ?? {}).flatMap(([key, block]) => [
    ...entries(at(block, 'postPlugins'))
      .filter(isOn)
      .map((entry) => `${key} ${nameOf('post', entry)}`),
    ...(isOn(at(block, 'virtualEndpoint'))
      ? [`${key} ${nameOf('virtual_endpoint', at(block, 'virtualEndpoint'))}`]
      : []),
  ]);
  return [
    ...(isOn(bundle) ? [`bundle ${textAt(bundle, 'path') ?? ''}`] : []),
    ...(isOn(custom) ? [nameOf('custom_auth', objectAt(custom, 'config') ?? custom)] : []),
    ...lists,
    ...operations,
  ];
}

const nameOf = (hook: string, entry: Json | undefined): string =>
  [hook, textAt(entry, 'functionName') ?? textAt(entry, 'name') ?? '', textAt(entry, 'path') ?? '']
    .filter((part) => part !== '')
    .join(' ');
