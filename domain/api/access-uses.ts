/** How a definition lets callers in: the schemes that it asks for, and the policies that it names. */
import type { Json } from '../event.ts';
import { at, isOn, objectAt, textAt, texts } from '../json.ts';
import { kindOf } from './authentication.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';

/** What `auth=` of the list may be. */
export const schemeNames = ['token', 'jwt', 'basic', 'hmac', 'oidc', 'custom', 'other', 'keyless'] as const;
export type SchemeName = (typeof schemeNames)[number];

const authenticationOf = (document: ApiDocument) => objectAt(document, gatewayExtension, 'server', 'authentication');

/** Of what is switched on; `keyless` where nothing is. Switched on without a scheme it is the token scheme. */
export function namedSchemes(document: ApiDocument): readonly SchemeName[] {
  const block = authenticationOf(document);
  if (!isOn(block)) return ['keyless'];
  const components = objectAt(document, 'components', 'securitySchemes') ?? {};
  const declared = Object.entries(objectAt(block, 'securitySchemes') ?? {})
    .filter(([, scheme]) => isOn(scheme))
    .map(([name]): SchemeName => kindOf(components[name]) ?? 'other');
  const own = (['hmac', 'oidc', 'custom'] as const).filter((name) => isOn(at(block, name)));
  const found = [...new Set([...declared, ...own])];
  return found.length > 0 ? found : ['token'];
}

const mappings = (value: Json | undefined): readonly string[] =>
  (Array.isArray(value) ? value : []).map((row: Json) => textAt(row, 'policyId') ?? '');

/** Policies of which callers get the rights. */
export function namedPolicies(document: ApiDocument): readonly string[] {
  const block = authenticationOf(document);
  if (!isOn(block)) return [];
  const schemes = [...Object.values(objectAt(block, 'securitySchemes') ?? {}), at(block, 'oidc') ?? null].filter(isOn);
  const providers = schemes.flatMap((scheme) => at(scheme, 'providers') ?? []).flat() as readonly Json[];
  const named = schemes.flatMap((scheme) => [
    ...texts(at(scheme, 'defaultPolicies')),
    ...mappings(at(scheme, 'scopes', 'scopeToPolicyMapping')),
  ]);
  const ofClients = providers.flatMap((provider) => mappings(at(provider, 'clientToPolicyMapping')));
  return [...new Set([...named, ...ofClients])].filter((id) => id !== '');
}
