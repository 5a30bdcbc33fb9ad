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
  off,
  preset,
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
const scopes = object({ claimName: preset('scope', text), claims: list(text), scopeToPolicyMapping: policyOfScope });

const token = {
  enableClientCertificate: off,
  signatureValidation: block({
    algorithm: word('MasherySHA256', 'MasheryMD5'),
    header: text,
    query: shared('source'),
    secret: text,
    allowedClockSkew: { type: 'integer', minimum: 0, maximum: 600 },
    errorCode: preset(401, status),
    errorMessage: preset('Request signature verification failed', text),
  }),
};

const basic = {
  disableCaching: off,
  cacheTTL: preset(60, count),
  extractCredentialsFromBody: block({ userRegexp: expression, passwordRegexp: expression }),
};

const jwt = {
  signingMethod: word('rsa', 'hmac', 'ecdsa', 'eddsa'),
  source: text,
  jwksURIs: list(object({ url: filledText, cacheTimeout: preset(240, count) }, ['url'])),
  skipKid: flag,
  identityBaseField: text,
  subjectClaims: list(text),
  policyFieldName: text,
  basePolicyClaims: list(text),
  clientBaseField: text,
  scopes,
  defaultPolicies: list(text),
  issuedAtValidationSkew: preset(0, count),
  notBeforeValidationSkew: preset(0, count),
  expiresAtValidationSkew: preset(0, count),
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
  idpClientIdMappingDisabled: off,
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
  stripAuthorizationData: off,
  grantedAs: object({ id: filledText, version: filledText }, ['id', 'version']),
  securityProcessingMode: preset('legacy', word('legacy', 'compliant')),
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
    allowedClockSkew: preset(0, { type: 'number', minimum: 0 }),
    signQuery: off,
  }),
  oidc: block({ ...withSources, segregateByClientId: off, providers: list(provider), scopes }),
  customKeyLifetime: block({ value: duration, respectValidity: flag }),
  ...foreign,
  externalOAuth: block(),
  tokenExchange: block(),
});
