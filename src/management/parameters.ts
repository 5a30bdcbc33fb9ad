/** Parameters that several routes share, as the API's own document shows them. */
import type { JsonObject } from '../../domain/event.ts';
import type { Parameter, Route } from './route.ts';

const text: JsonObject = { type: 'string' };
const flag: JsonObject = { type: 'string', enum: ['true', 'false', '1', '0'] };

const query = (name: string, description: string, schema: JsonObject = text): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});

const header = (name: string, description: string, schema: JsonObject = text): Parameter => ({
  name,
  in: 'header',
  description,
  schema,
});

export const queryParameter = query;

const dryRun = query('dryRun', 'Everything but the append; `Meta` shows what would happen.', flag);
export const strict = query('strict', 'Unknown keys are errors.', flag);
export const at = query('at', 'The state at this time (RFC 3339) or position.');
export const minRevision = query('minRevision', 'Waits up to 2 s until reads show this revision, then 503.', {
  type: 'string',
  pattern: '^\\d{1,20}(-\\d{1,20})?$',
});
export const limit = query('limit', 'Entries of one answer.', {
  type: 'integer',
  minimum: 1,
  maximum: 500,
  default: 50,
});
export const after = query('after', 'Goes on after this entry: `next` of the answer before.');

export const organisation = header('x-svc-org', 'Works in this organisation; needs the scope `orgs:admin`.', {
  type: 'string',
  pattern: '^[0-9a-f]{24}$',
});

export const ifMatch = header('If-Match', 'Answers 412 unless it is the current ETag.');
export const ifNoneMatch = header('If-None-Match', 'Read: 304 when unchanged. Create with `*`: 412 when it exists.');
const idempotencyKey = header(
  'Idempotency-Key',
  'A repeat by the same token with the same key gets the stored answer.',
  {
    type: 'string',
    minLength: 1,
    maxLength: 255,
  },
);
const comment = header('x-svc-comment', 'Change message, kept in the event.', {
  type: 'string',
  maxLength: 4096,
});
/** Of reads of definitions. */
export const mode = query('mode', 'Without both extensions and without secrets.', { type: 'string', enum: ['public'] });
export const prefer = header('Prefer', '`return=representation`: `Meta` shows the result.');

/** Of every write. */
export const writeParameters: readonly Parameter[] = [idempotencyKey, comment, dryRun];

/** Of every write of a definition. */
export const definitionParameters: readonly Parameter[] = [...writeParameters, ifMatch, strict, prefer];

/** Of a create: the new API becomes a version of another one (management design 6.1). */
export const versionParameters: readonly Parameter[] = [
  query('base_api_id', 'The new API becomes a version of this one.'),
  query('new_version_name', 'Name of the new version; required with `base_api_id`.'),
  query('base_api_version_name', 'Name of the base itself; needed for its first version, later it renames the base.'),
  query('set_default', 'The new version answers requests that name none.', flag),
];

export const purge = query('purge', 'Deletes the versions of the API too.', flag);

const booleanText: JsonObject = {
  type: 'string',
  enum: ['1', 't', 'T', 'TRUE', 'true', 'True', '0', 'f', 'F', 'FALSE', 'false', 'False'],
};

/** Settings of a PATCH (management design 4.1). */
export const settingParameters = (kind: 'streams' | 'oas'): readonly Parameter[] => [
  query('listenPath', 'Sets `server.listenPath.value`.'),
  query('customDomain', 'Sets `server.customDomain.name`.'),
  query('allowList', 'Allows only the operations of the document, or lifts that.', booleanText),
  query('validateRequest', 'Switches request validation of operations with a JSON body or parameters.', booleanText),
  query('mockResponse', 'Switches mock responses of operations with examples.', booleanText),
  query('authentication', 'Switches authentication by the security of the document.', booleanText),
  ...(kind === 'oas'
    ? [
        query('upstreamURL', 'Sets `upstream.url`.'),
        query('securityProcessingMode', 'Sets `server.authentication.securityProcessingMode`.', {
          type: 'string',
          enum: ['legacy', 'compliant'],
        }),
      ]
    : []),
];

/** A write of what is there: it takes If-Match (a set: its `base`), and an organisation may demand it. */
export const changesWhatIsThere = ({
  method,
  path,
  parameters,
}: Pick<Route, 'method' | 'path' | 'parameters'>): boolean =>
  path === '/api/config/apply' ||
  (method !== 'GET' && path.includes('{') && parameters.some(({ name }) => name === 'If-Match'));
