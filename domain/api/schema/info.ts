/** Schema of the extension's `info` (api-definition design 3 and 4.4). */
import { expression, filledText, flag, list, object, text, word } from './shapes.ts';

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
      location: word('header', 'url-param', 'url'),
      key: text,
      versions: list(object({ id: filledText, name: filledText }, ['id', 'name'])),
      stripVersioningData: flag,
      fallbackToDefault: flag,
      urlVersioningPattern: expression,
    }),
  },
  ['name', 'state'],
);
