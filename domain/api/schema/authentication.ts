/** Schema of `server.authentication` (api-definition design 9 and the product document's table). */
import { block, filledText, flag, integer, list, mapOf, object, text } from './shapes.ts';

const source = object({ enabled: flag, name: text });
const sources = object({ header: source, query: source, cookie: source });
const withSources = { AuthSources: sources, header: source, query: source, cookie: source };

const idExtractor = block({
  source: text,
  with: text,
  config: object({ formParamName: text, headerName: text, regexp: text, regexpMatchIndex: integer, xPathExp: text }),
});

export const authenticationSchema = block({
  baseIdentityProvider: text,
  stripAuthorizationData: flag,
  securityProcessingMode: text,
  securitySchemes: mapOf(block(withSources)),
  custom: block({
    ...withSources,
    config: object({ enabled: flag, functionName: text, path: text, rawBodyOnly: flag, idExtractor }),
  }),
  hmac: block({ ...withSources, allowedAlgorithms: list(text), allowedClockSkew: { type: 'number', minimum: 0 } }),
  oidc: block({
    ...withSources,
    segregateByClientId: flag,
    providers: list(
      object({
        issuer: text,
        clientToPolicyMapping: list(object({ clientId: filledText, policyId: filledText }, ['clientId', 'policyId'])),
      }),
    ),
    scopes: object({
      claimName: text,
      scopeToPolicyMapping: list(object({ policyId: filledText, scope: filledText }, ['policyId', 'scope'])),
    }),
  }),
  customKeyLifetime: block({ value: text, respectValidity: flag }),
});
