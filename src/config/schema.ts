/** The shape of the process configuration as one JSON Schema: loading, environment names, `svc config` and the reference page derive from it. */
import { analytics } from './analytics-schema.ts';
import {
  type ConfigSchema,
  count,
  counts,
  duration,
  flag,
  group,
  listen,
  oneOf,
  secret,
  size,
  text,
  texts,
} from './schema-shapes.ts';

/** Section names in the environment: `gateway.listen` is `SVC_GW_LISTEN`. */
export const sectionVariables: Readonly<Record<string, string>> = {
  store: 'STORE',
  management: 'MGMT',
  gateway: 'GW',
  analytics: 'ANALYTICS',
  pump: 'PMP',
  telemetry: 'TELEMETRY',
  compat_prefix: 'COMPATPREFIX',
};

const store = group('The event store: the log of every change.', {
  url: text(
    'Where the event log is: `sqlite:PATH`, `postgres://…`, `kurrentdb://…`, or `memory:` (gone when the process ends).',
    'sqlite:$data/events.db',
  ),
  max_event_bytes: size('4MiB', 65_536, 'Largest document that is stored; a larger one is refused with 413.'),
  personal_data_months: count(
    13,
    1,
    120,
    "Full months for which callers' addresses in the history can be read; then their key is dropped.",
  ),
  secrets: group('How secrets in events are sealed.', {
    master_key_file: text(
      'File with the master keys that wrap the key ring, one a line, the newest first; made with mode 0600 at the first start.',
      '$data/master.key',
    ),
    master_keys: {
      type: 'array',
      items: { type: 'string', minLength: 1, writeOnly: true },
      description:
        'The master keys themselves, the newest first, in the place of the file: 43 characters of base64url each, from the environment or by reference.',
      writeOnly: true,
    },
  }),
});

const management = group('The management API.', {
  listen: listen('127.0.0.1:3000', 'Address of the management API.'),
  bootstrap_token: secret(
    'First admin token. Without it one is generated at the first start and kept in `admin-token` in the data folder (mode 0600).',
    32,
  ),
  anchor_copy: text(
    'Folder (which exists) or http(s) address (PUT) for copies of the audit anchors: a place where they cannot be changed.',
  ),
  body_limit: size('4MiB', 1024, 'Largest body of a definition; never above `store.max_event_bytes`.'),
  cert_expiry_days: counts([60, 30, 14, 7, 1], 1, 3650, 'Days before a certificate ends at which that is told.'),
  page_size: count(10, 1, 500, 'Entries on one page of the certificate list.'),
  public_gateways: {
    type: 'array',
    items: {
      type: 'object',
      properties: {
        url: {
          type: 'string',
          pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
          description: 'Address without listen path.',
        },
        tags: { ...texts('It serves the APIs with one of these tags; none: every API.') },
      },
      required: ['url'],
      additionalProperties: false,
    },
    description: 'Addresses at which gateways are reached; exports of definitions name them in `servers`.',
    default: [],
  },
  trusted_proxies: texts(
    'Networks (CIDR) or addresses of proxies in front of the management API: the address of a caller is then the one that they name in `X-Forwarded-For`.',
  ),
  trusted_actor_header: text(
    'Header in which one of `trusted_proxies` names the person that it has signed in. It is recorded with each change and grants nothing.',
  ),
  metrics_public: {
    type: 'boolean',
    description: '`/metrics` without a token. Without this key: where `management.listen` is on this machine only.',
  },
  tls: group('HTTPS for the management API; both keys together.', {
    cert_file: text('Certificate and its chain (PEM).'),
    key_file: text('Its private key (PEM).'),
  }),
  rate_limit: group('Requests that one token may make.', {
    rate: count(1000, 1, 1_000_000, 'Requests a second.'),
    burst: count(2000, 1, 10_000_000, 'Requests at once.'),
  }),
  roles: {
    type: 'object',
    description: 'Roles beside those that are built in, by name.',
    propertyNames: { type: 'string', pattern: '^[a-z][a-z0-9_-]{0,40}$' },
    additionalProperties: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'Scopes of the role. What tokens of the role may do follows at the next start.',
    },
    default: {},
  },
});

const gateway = group('The data plane.', {
  listen: listen('0.0.0.0:8080', 'Address of the proxy listener.'),
  control_listen: listen('127.0.0.1:8081', 'Address of health and reload.'),
  control_secret: secret(
    'Bearer token of the control routes. Without it they are served on loopback addresses only.',
    16,
  ),
  tags: texts('Sharding labels: an API with `gatewayTags` runs on gateways that carry one of them.'),
  node_id: {
    type: 'string',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
    description: 'Name of this gateway in records and reports. Without it one is made and kept in the data folder.',
  },
  management_url: {
    type: 'string',
    pattern: '^https?://[^/?#\\s]+/?$',
    description:
      'Where a gateway in a process of its own gets its configuration: the management API, http(s)://host:port. Without it the gateway runs in one process with management.',
  },
  node_token: {
    type: 'string',
    minLength: 1,
    description:
      'Token for `management_url` with the scopes `feed:read` and `gateways:report`; issued for this gateway (`node`), it gets secrets too.',
    writeOnly: true,
  },
  management_key_file: text(
    'Public key (PEM) that signs the configuration. Without it the key of the first contact is kept in `gateway/management-key.pem` in the data folder, and no other one is believed.',
  ),
  management_ca_file: text('Authorities (PEM) that may vouch for `management_url`, beside those of the system.'),
  config_seed: text(
    'File or http(s) address of a signed snapshot (`GET /api/feed/snapshot`) to start from when the node has none of its own.',
  ),
  max_staleness: duration(
    '0s',
    'seconds',
    'Readiness fails when the configuration has not been confirmed for so long; the gateway goes on serving. 0 is never, else at least 1m: the feed confirms twice a minute.',
  ),
  trusted_proxies: texts(
    'Networks (CIDR) or addresses whose `X-Forwarded-*` headers count, and `X-Real-IP`, which they have to set or take away. The client is the last address in `X-Forwarded-For` that is none of them.',
  ),
  max_header_bytes: size('32KiB', 1024, 'Largest header section of a request; a larger one is a 431.'),
  max_url_bytes: size('8KiB', 256, 'Longest request target; a longer one is a 414.'),
  underscore_headers: oneOf(
    ['guard', 'drop', 'keep'],
    'guard',
    'Header names with underscores: `guard` drops those that could pass for a header that the gateway sets or trusts, `drop` drops all, `keep` none.',
  ),
  rate_limit_headers: oneOf(
    ['all', 'none'],
    'all',
    'What answers tell of limits: `X-RateLimit-*`, `RateLimit-Policy` and `RateLimit`, or nothing but `Retry-After` in refusals.',
  ),
  cache: group('Answers that are kept for APIs with a cache, in the memory of the gateway.', {
    max_bytes: size('256MiB', 0, 'Memory for them; those that were not used for longest go first. 0 keeps none.'),
    max_entry_bytes: size('1MiB', 0, 'Longest body of an answer that is kept; a longer one passes by.'),
  }),
  monitor: group('When `TriggerExceeded` is raised for keys that do not say so themselves.', {
    enabled: flag(false, 'Whether it is.'),
    trigger_limits: counts([], 1, 100, 'Percentages of the quota of a key.'),
  }),
  event_handlers: {
    type: 'array',
    items: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        trigger: { type: 'string', minLength: 1 },
        type: { type: 'string', enum: ['webhook', 'log'] },
        id: { type: 'string', minLength: 1 },
        name: { type: 'string' },
        url: { type: 'string', writeOnly: true },
        method: { type: 'string', enum: ['GET', 'PUT', 'POST', 'DELETE', 'PATCH'] },
        cooldownPeriod: { type: 'string' },
        bodyTemplate: { type: 'string' },
        headers: {
          type: 'array',
          items: {
            type: 'object',
            properties: { name: { type: 'string', minLength: 1 }, value: { type: 'string', writeOnly: true } },
            required: ['name', 'value'],
            additionalProperties: false,
          },
        },
        secret: { type: 'string', writeOnly: true },
        logPrefix: { type: 'string' },
      },
      required: ['enabled', 'trigger', 'type'],
      additionalProperties: false,
    },
    description:
      'Handlers for events of every API, in the form of `server.eventHandlers[]` of a definition: `webhook` (stored or with an address) and `log`. A stored webhook gets the events of its organisation.',
    default: [],
    writeOnly: true,
  },
  webhook_allow_link_local: flag(
    false,
    'Whether webhooks may be sent to link-local addresses (169.254.0.0/16, fe80::/10) and to fd00:ec2::254, where clouds answer with credentials; on the management server it holds for `POST /api/webhooks/{webhookId}/test` too.',
  ),
  templates_path: text(
    'Folder of the files that `bodyTemplate` of a webhook may name; nothing outside of it is read. Gateways read them with a configuration and at a reload, the management server for what it sends itself.',
    '$data/middleware/templates',
  ),
  graceful_shutdown_delay_seconds: duration('0s', 'seconds', 'How long to accept after readiness has failed.'),
  graceful_shutdown_timeout_duration: duration('30s', 'seconds', 'How long requests may take to finish at a stop.'),
});

const sink = group(
  'One destination of records.',
  {
    type: text('Kind of destination: `stdout` or `file`.'),
    required: flag(false, 'Whether the pump is ready only while this sink is up.'),
    start: oneOf(
      ['earliest', 'now'],
      'earliest',
      'Where a sink that never ran begins: at the oldest record that is kept, or at the next one.',
    ),
    filters: group('Which records it gets. An empty list allows all; a `skip` list wins.', {
      api_ids: texts('Only these APIs.'),
      org_ids: texts('Only these organisations.'),
      response_codes: counts([], 100, 599, 'Only these statuses.'),
      skip_api_ids: texts('Not these APIs.'),
      skip_org_ids: texts('Not these organisations.'),
      skip_response_codes: counts([], 100, 599, 'Not these statuses.'),
    }),
    ignore_fields: texts('Fields of the record (JSON names, nested with dots) that are emptied.'),
    omit_detailed_recording: flag(false, 'Whether recorded requests and responses are left out.'),
    max_record_size: count(
      0,
      0,
      1_073_741_824,
      'Bytes of the base64 text of a recorded request or response; longer ones are cut, 0 leaves them whole.',
    ),
    batch: group('The unit of a write; the first limit that is reached closes it.', {
      records: count(1000, 1, 100_000, 'Records.'),
      bytes: size('1MiB', 1024, 'Size.'),
      wait: duration('500ms', 'milliseconds', 'Longest wait of a record.'),
    }),
    retry: group('Repeats of a write that failed for a passing reason.', {
      initial: duration('200ms', 'milliseconds', 'First pause.'),
      max: duration('30s', 'milliseconds', 'Longest pause.'),
      max_elapsed: duration('0s', 'milliseconds', 'When to give up and apply `on_reject`; 0 is never.'),
    }),
    timeout: duration('10s', 'seconds', 'Longest write; 0 means the default.'),
    on_reject: oneOf(
      ['dlq', 'drop', 'stop'],
      'dlq',
      'What happens to a record that the destination refuses: kept as a dead letter, dropped and counted, or the sink stops.',
    ),
    meta: {
      type: 'object',
      description: 'Options of this kind of sink; a name that it does not know stops the start.',
      properties: {
        format: text('`stdout`: `json` (default) or `text`. `file`: `jsonl` (default) or `csv`.'),
        path: text('`file`: where it writes; `{yyyy}`, `{MM}`, `{dd}`, `{HH}` and `{n}` are filled in.'),
        columns: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          description: '`file` as `csv`: which fields.',
        },
        max_bytes: size(undefined, 1, '`file`: size at which the next one begins (100 MiB).'),
        max_age_ms: {
          type: 'integer',
          minimum: 1,
          maximum: 31_536_000_000,
          description: '`file`: age in milliseconds at which the next one begins (one hour).',
        },
      },
      additionalProperties: true,
      default: {},
    },
  },
  ['type'],
);

const pump = group('The pump: carries records to sinks.', {
  listen: listen('127.0.0.1:8083', 'Address of health and status of the pump.'),
  sinks: {
    type: 'object',
    description: 'Destinations by name.',
    propertyNames: { type: 'string', pattern: '^[a-z][a-z0-9_-]{0,40}$' },
    additionalProperties: sink,
    default: {},
  },
});

const telemetry = group('What svc says about itself. Nothing leaves the installation.', {
  log: group('The log.', {
    level: oneOf(['debug', 'info', 'warn', 'error', 'silent'], 'info', 'Lowest level that is written.'),
    destination: text('`stderr`, `stdout`, or the path of a file.', 'stderr'),
  }),
});

export const configSchema: ConfigSchema & { readonly $schema: string; readonly title: string } = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Process configuration of svc',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string', description: 'Address of this schema, for editors.' },
    store,
    management,
    gateway,
    analytics,
    pump,
    telemetry,
    compat_prefix: {
      type: 'string',
      pattern: '^(?!svc$)[a-z][a-z0-9]{0,31}$',
      description:
        'A word that stands for `svc` in what comes in: with `acme`, definitions with `x-acme-api-gateway` and requests with `X-Acme-…` are read. What is stored and answered says `svc`.',
    },
  },
};
