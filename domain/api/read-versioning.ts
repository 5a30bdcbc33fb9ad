/** How a gateway reads `info.versioning` of a base API (api-definition design 4.4). */
import type { Json, JsonObject } from '../event.ts';
import { isOn, objectAt, textAt } from '../json.ts';
import type { Versioning } from './definition.ts';

export const versioningPlace = ['info', 'versioning'] as const;

/** The base itself, under a name that no version may have. */
export const selfName = 'self';

export const versionLocations = ['header', 'url-param', 'url'] as const;

export const locationOf = (block: JsonObject): Versioning['location'] | undefined =>
  versionLocations.find((location) => location === textAt(block, 'location'));

/** Undefined for an API without versions of its own, or with its versioning switched off. */
export function readVersioning(extension: JsonObject): Versioning | undefined {
  const block = objectAt(extension, ...versioningPlace);
  const location = block && locationOf(block);
  if (!block || !location || !isOn(block)) return undefined;
  const pattern = textAt(block, 'urlVersioningPattern') ?? '';
  return {
    name: textAt(block, 'name') ?? '',
    default: textAt(block, 'default') ?? '',
    location,
    key: textAt(block, 'key') ?? '',
    versions: entriesOf(block),
    strip: block['stripVersioningData'] === true,
    fallbackToDefault: block['fallbackToDefault'] === true,
    ...(location === 'url' && pattern !== '' ? { pattern } : {}),
  };
}

export type ListedVersion = { readonly name: string; readonly id: string };

export const entriesOf = (block: JsonObject | undefined): readonly ListedVersion[] => {
  const listed = block?.['versions'];
  return Array.isArray(listed)
    ? listed.flatMap((entry: Json) => {
        const [name, id] = [textAt(entry, 'name'), textAt(entry, 'id')];
        return name === undefined || id === undefined ? [] : [{ name, id }];
      })
    : [];
};
