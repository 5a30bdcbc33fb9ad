/** Schema of the extension's `info` (api-definition design 3). */
import { filledText, flag, list, object, text } from './shapes.ts';

export const infoSchema = object(
  {
    id: text,
    dbId: text,
    orgId: text,
    name: filledText,
    expiration: text,
    state: object({ active: flag, internal: flag }, ['active']),
    versioning: object({
      enabled: flag,
      name: text,
      default: text,
      location: text,
      key: text,
      versions: list(object({ id: filledText, name: filledText }, ['id', 'name'])),
      stripVersioningData: flag,
      fallbackToDefault: flag,
      urlVersioningPattern: text,
    }),
  },
  ['name', 'state'],
);
