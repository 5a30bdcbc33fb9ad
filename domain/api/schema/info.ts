/** Schema of the extension's `info` (api-definition design 3 and 4.4). */
import { expression, filledText, flag, list, object, off, text, word } from './shapes.ts';

export const infoSchema = object(
  {
    id: text,
    dbId: text,
    orgId: text,
    name: filledText,
    expiration: text,
    state: object({ active: flag, internal: off }, ['active']),
    versioning: object({
      enabled: off,
      name: text,
      default: text,
      location: word('header', 'url-param', 'url'),
      key: text,
      versions: list(object({ id: filledText, name: filledText }, ['id', 'name'])),
      stripVersioningData: off,
      fallbackToDefault: off,
      urlVersioningPattern: expression,
    }),
  },
  ['name', 'state'],
);
