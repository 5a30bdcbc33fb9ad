/** The policies that a definition gives to callers by their claims or clients, in each of its written forms. */
import type { Json } from '../event.ts';
import { at, isObject, texts } from '../json.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';

/** Members whose elements, or whose values, are ids of policies. */
const lists: readonly string[] = ['defaultPolicies', 'jwt_default_policies'];
const maps: readonly string[] = ['scope_to_policy', 'jwt_scope_to_policy_mapping', 'client_ids'];

/** Members of a Classic definition that say how callers are known. */
const classicRoots: readonly string[] = [
  ...['jwt_default_policies', 'jwt_scope_to_policy_mapping', 'openid_options', 'scopes', 'auth_configs'],
];

export function policiesIn(document: ApiDocument): ReadonlySet<string> {
  const found = new Set<string>();
  const walk = (value: Json | undefined): void => {
    if (Array.isArray(value)) value.forEach(walk);
    if (!isObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      if (lists.includes(name)) for (const id of texts(member)) found.add(id);
      else if (maps.includes(name) && isObject(member)) for (const id of texts(Object.values(member))) found.add(id);
      else if (name === 'policyId' && typeof member === 'string') found.add(member);
      else walk(member);
    }
  };
  walk(at(document, gatewayExtension, 'server', 'authentication'));
  walk(Object.fromEntries(classicRoots.flatMap((name) => (name in document ? [[name, document[name] ?? null]] : []))));
  return found;
}
