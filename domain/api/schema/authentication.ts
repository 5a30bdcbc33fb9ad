/** Schema of `server.authentication` (api-definition design 9, plugins design 7.4). */
import {
  block,
  count,
  duration,
  expression,
  filledText,
  flag,
  list,
  mapOf,
  object,
  shared,
  status,
  text,
  word,
} from './shapes.ts';

export const source = object({ enabled: flag, name: text });
const ofKinds = { header: shared('source'), query: shared('source'), cookie: shared('source') };
export const sources = object(ofKinds);
const withSources = { AuthSources: shared('sources'), ...ofKinds };

const policyOfScope = list(object({ policyId: filledText, scope: filledText }, ['policyId', 'scope']));
const scopes = object({ claimName: text, claims: list(text), scopeToPolicyMapping: policyOfScope });

const token = {
  enableClientCertificate: flag,
  signatureValidation: block({
    algorithm: word('MasherySHA256', 'MasheryMD5'),
    header: text,
    query: shared('source'),
    secret: text,
    allowedClockSkew: { type: 'integer', minimum: 0, maximum: 600 },
    errorCode: status,
    errorMessage: text,
  }),
};

const basic = {
  disableCaching: flag,
  cacheTTL: count,
  extractCredentialsFromBody: block({ userRegexp: expression, passwordRegexp: expression }),
};

const jwt = {
  signingMethod: word('rsa', 'hmac', 'ecdsa', 'eddsa'),
  source: text,
  jwksURIs: list(object({ url: filledText, cacheTimeout: count }, ['url'])),
  skipKid: flag,
  identityBaseField: text,
  subjectClaims: list(text),
  policyFieldName: text,
  basePolicyClaims: list(text),
  clientBaseField: text,
  scopes,
  defaultPolicies: list(text),
  issuedAtValidationSkew: count,
  notBeforeValidationSkew: count,
  expiresAtValidationSkew: count,
  allowedIssuers: list(text),
  allowedAudiences: list(text),
  allowedSubjects: list(text),
  jtiValidation: block(),
  customClaimValidation: mapOf(
    object(
      {
        type: { type: 'string', enum: ['required', 'exact_match', 'contains'] },
        allowedValues: list({}),
        nonBlocking: flag,
      },
      ['type'],
    ),
  ),
  idpClientIdMappingDisabled: flag,
};

/** What schemes that are no token schemes have besides. */
export const membersOfOtherSchemes: readonly string[] = Object.keys({ ...basic, ...jwt });

/** Known and not offered (api-definition design 16). */
const foreign = { scopeCheck: block(), exchange: block(), protectedResourceMetadata: block() };

const idExtractor = block({
  source: word('header', 'form', 'body', 'querystring'),
  with: word('value', 'regex', 'xpath'),
  config: object({
    formParamName: text,
    headerName: text,
    regexp: expression,
    regexpMatchIndex: count,
    xPathExp: text,
  }),
});

const provider = object({
  issuer: text,
  clientToPolicyMapping: list(object({ clientId: filledText, policyId: filledText }, ['clientId', 'policyId'])),
});

export const authenticationSchema = block({
  baseIdentityProvider: text,
  stripAuthorizationData: flag,
  grantedAs: object({ id: filledText, version: filledText }, ['id', 'version']),
  securityProcessingMode: word('legacy', 'compliant'),
  security: list(list(text)),
  securitySchemes: {
    ...mapOf(block({ ...withSources, ...token, ...basic, ...jwt, ...foreign })),
    propertyNames: { pattern: '^[A-Za-z0-9._-]+$' },
  },
  custom: block({
    ...withSources,
    config: object({
      enabled: flag,
      functionName: text,
      path: text,
      rawBodyOnly: flag,
      requireSession: flag,
      deadline: duration,
      failureMode: word('closed', 'open'),
      idExtractor,
    }),
  }),
  hmac: block({
    ...withSources,
    allowedAlgorithms: list(text),
    allowedClockSkew: { type: 'number', minimum: 0 },
    signQuery: flag,
  }),
  oidc: block({ ...withSources, segregateByClientId: flag, providers: list(provider), scopes }),
  customKeyLifetime: block({ value: duration, respectValidity: flag }),
  ...foreign,
  externalOAuth: block(),
  tokenExchange: block(),
});
