/** JSON Schemas of access keys and policies; bodies that come in are judged by theirs. */
import type { JsonObject } from '../../../domain/event.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const amount = { type: 'number', minimum: -1 };
const whole = { type: 'integer', minimum: -1 };
const maybe = { type: ['string', 'null'] };
const line = { type: 'string', maxLength: 200, pattern: '^[^\\p{Cc}]*$' };
const name = { ...line, minLength: 1 };
const id = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' };

const listOf = (items: JsonObject, maxItems = 100): JsonObject => ({ type: 'array', items, maxItems });
const names = { ...listOf(name), uniqueItems: true };

const closed = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

/** 366 days: no counter is kept for longer. */
const longestS = 31_622_400;
const longest = { maximum: longestS, description: `Seconds, at most ${longestS} (366 days).` };
const most = { maximum: 1_000_000_000_000 };

const rates = { rate: { ...amount, ...most }, per: { ...amount, ...longest } };
const limits = {
  ...rates,
  ...{ throttle_interval: amount, throttle_retry_limit: whole },
  ...{ quota_max: { ...whole, ...most }, quota_renewal_rate: { ...whole, ...longest } },
};

const path = { type: 'string', minLength: 1, maxLength: 2_048 };

/** Of other products of the family, for plugins; nothing here reads them. */
const kept = listOf({ type: 'object' });

const accessRight = closed({
  ...{ api_id: id, api_name: line, versions: names, disable_introspection: flag },
  ...{ field_access_rights: kept, restricted_types: kept, allowed_types: kept },
  allowed_urls: listOf(closed({ url: path, methods: names }, ['url'])),
  limit: closed(limits),
  allowance_scope: line,
  endpoints: listOf(
    closed({ path, methods: listOf(closed({ name, limit: closed(rates) }, ['name'])) }, ['path', 'methods']),
  ),
});

const accessRights = {
  type: 'object',
  maxProperties: 1_000,
  propertyNames: id,
  additionalProperties: accessRight,
  description: 'By API id; empty grants nothing.',
};

const common = {
  ...{ org_id: { ...line, description: "Always the caller's." }, last_updated: line },
  ...{ tags: names, meta_data: { type: 'object', description: 'At most 16 KiB.' }, access_rights: accessRights },
  ...limits,
  max_query_depth: whole,
  post_expiry_action: { type: 'string', enum: ['retain'], description: 'An expired key stays until it is deleted.' },
  post_expiry_grace_period: { ...whole, description: 'Seconds.' },
};

const secret = { type: 'string', minLength: 1, maxLength: 4_096, description: 'Sealed, and shown as `***`.' };

const keyDocument = {
  ...common,
  alias: line,
  allow_all_apis: { ...flag, description: 'Every API of the organisation; needs `keys:admin`.' },
  apply_policies: { ...listOf(id), uniqueItems: true },
  apply_policy_id: { ...id, description: 'The short form of `apply_policies` with one policy.' },
  // The last second of the year 9999.
  expires: { ...whole, maximum: 253_402_300_799, description: 'Unix seconds; 0 or -1: never.' },
  is_inactive: flag,
  enable_detailed_recording: flag,
  session_lifetime: { ...whole, description: 'Seconds.' },
  monitor: closed({ trigger_limits: listOf({ type: 'number', minimum: 0, maximum: 100 }) }),
  ...{ quota_remaining: amount, quota_renews: amount, allowance: amount, last_check: { type: 'number' } },
  ...{ oauth_client_id: line, oauth_keys: { type: 'object' }, smoothing: { type: ['object', 'null'] } },
  ...{ data_expires: { type: 'number' }, id_extractor_deadline: { type: 'number' } },
  hmac_enabled: { ...flag, description: 'Without `hmac_string` one is made and told once.' },
  enable_http_signature_validation: flag,
  hmac_string: secret,
  jwt_data: closed({ secret }),
  basic_auth_data: closed(
    {
      user: { type: 'string', pattern: '^[^:\\p{Cc}]{1,200}$' },
      password: secret,
      hash_type: { type: 'string', enum: ['scrypt', 'bcrypt'], description: 'Of a password that is a hash already.' },
      password_hash: { const: '***', description: 'Shown in place of what was made of the password.' },
    },
    ['user'],
  ),
  ...{ certificate: line, rsa_certificate_id: line, mtls_static_certificate_bindings: listOf(line) },
  date_created: line,
};

const partitions = closed({ acl: flag, rate_limit: flag, quota: flag, complexity: flag, per_api: flag });

const policyDocument = {
  ...common,
  ...{ hmac_enabled: flag, enable_http_signature_validation: flag },
  ...{ id, name, partitions, state: { type: 'string', enum: ['active', 'draft', 'deny'] } },
  active: { ...flag, description: 'False is read as `state` `draft`.' },
  is_inactive: { ...flag, description: 'True is read as `state` `deny`.' },
  key_expires_in: { type: 'integer', minimum: 0, description: 'Seconds from the creation of a key; 0: never.' },
};

const shownKey = { key_id: text, key_hash: text, data: { $ref: '#/components/schemas/KeyDocument' } };
const answered = { Message: text, Status: text };
const open = (properties: JsonObject): JsonObject => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});

const listedKey = open({
  ...{ key_hash: text, key_id: text, prefix: text, alias: text, org_id: text, apply_policies: names },
  ...{ expires: { type: 'integer' }, is_inactive: flag, tags: names, created_at: text },
});

export const accessSchemas: JsonObject = {
  KeyDocument: closed(keyDocument),
  KeyRequest: closed({
    ...keyDocument,
    key: {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{16,512}$',
      description: 'A key of your own: 16 to 512 printable characters without white space. Without it one is made.',
    },
  }),
  CreatedKey: open({ key: maybe, ...shownKey, ...answered }),
  KeyRotation: closed({ overlap: { type: 'string', description: 'A duration such as 1h or PT1H; 0s when absent.' } }),
  RotatedKey: open({ key: maybe, ...shownKey, replaces: text, ends: { type: ['integer', 'null'] }, ...answered }),
  KeyPreview: open({
    data: { $ref: '#/components/schemas/KeyDocument' },
    applied: names,
    skipped: {
      type: 'array',
      items: open({ id: text, reason: { type: 'string', enum: ['missing', 'draft', 'deny', 'mixed'] } }),
    },
  }),
  UpdatedKey: open({ ...shownKey, ...answered }),
  Key: {
    ...open(shownKey),
    properties: {
      ...shownKey,
      live: {
        ...open({ last_seen: text, node: text }),
        properties: {
          ...{ last_seen: text, node: { ...text, description: 'The gateway that saw it last.' } },
          quota_remaining: { type: 'integer', description: 'On that gateway.' },
          quota_renews: { type: 'integer', description: 'Unix seconds.' },
        },
        description: 'As gateways reported it last; absent when none has seen the key.',
      },
    },
  },
  KeyList: open({ keys: { type: 'array', items: listedKey }, next: maybe, total: { type: 'integer' } }),
  Policy: closed(policyDocument),
  PolicyRequest: closed(policyDocument, ['name']),
  PolicyAnswer: open({ ID: text, Meta: text, ...answered }),
  PolicyList: open({
    policies: { type: 'array', items: { $ref: '#/components/schemas/Policy' } },
    next: maybe,
    total: { type: 'integer' },
  }),
};
