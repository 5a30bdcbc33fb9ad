/** Schema of the extension's `server` (api-definition design 4, 8 and 14). */
import { authenticationSchema } from './authentication.ts';
import { block, duration, filledText, headerPairs, list, object, off, preset, text, word } from './shapes.ts';

/** Members of every type of handler; which belong together is a rule (`rules/events.ts`). */
const eventHandler = block({
  id: text,
  name: text,
  trigger: text,
  type: text,
  url: text,
  method: preset('POST', word('GET', 'PUT', 'POST', 'DELETE', 'PATCH')),
  cooldownPeriod: duration,
  bodyTemplate: text,
  headers: headerPairs,
  secret: text,
  functionName: text,
  path: text,
  logPrefix: text,
});

const onFailure = preset('local', word('local', 'open', 'closed'));

export const serverSchema = object(
  {
    authentication: authenticationSchema,
    batchProcessing: block(),
    clientCertificates: block({ allowlist: list(text) }),
    contextVariables: block(),
    customDomain: block({ certificates: list(text), name: text }),
    detailedActivityLogs: block(),
    detailedTracing: block(),
    eventHandlers: list(eventHandler),
    gatewayTags: block({ tags: list(filledText) }),
    ipAccessControl: block({ allow: list(text), block: list(text) }),
    listenPath: object({ value: filledText, strip: off }, ['value']),
    onStoreFailure: object({ rateLimit: onFailure, quota: onFailure }),
    port: { type: 'integer', minimum: 1, maximum: 65_535 },
    protocol: word('http', 'https', 'h2c'),
    revisionHeader: block(),
    slug: text,
  },
  ['listenPath'],
);
