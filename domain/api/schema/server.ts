/** Schema of the extension's `server` (api-definition design 4 and 8). */
import { authenticationSchema } from './authentication.ts';
import { block, filledText, flag, list, object, text } from './shapes.ts';

export const serverSchema = object(
  {
    authentication: authenticationSchema,
    clientCertificates: block({ allowlist: list(text) }),
    customDomain: block({ certificates: list(text), name: text }),
    detailedActivityLogs: block(),
    detailedTracing: block(),
    eventHandlers: list(block({ id: text, name: text, trigger: text, type: text })),
    gatewayTags: block({ tags: list(filledText) }),
    ipAccessControl: block({ allow: list(text), block: list(text) }),
    listenPath: object({ value: filledText, strip: flag }, ['value']),
    revisionHeader: block(),
  },
  ['listenPath'],
);
