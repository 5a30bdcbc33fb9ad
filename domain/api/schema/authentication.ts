/** Schema of `server.authentication` (api-definition design 9 and the product document's table). */
import { block, filledText, flag, integer, list, mapOf, object, shared, text } from './shapes.ts';

export const source = object({ enabled: flag, name: text });
const ofKinds = { header: shared('source'), query: shared('source'), cookie: shared('source') };
export const sources = object(ofKinds);
const withSources = { AuthSources: shared('sources'), ...ofKinds };

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
