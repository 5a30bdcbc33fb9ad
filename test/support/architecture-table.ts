/** The house as data: floors, packages per folder, orders inside the wings, leaf families. ADR 1 gives the reasons. */

/** Wing → wings it may import. */
export const floors: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  projections: ['domain'],
  pump: ['domain'],
  gateway: ['domain', 'projections'],
  src: ['domain', 'projections', 'gateway', 'pump'],
};

/** Wings that stand on nothing but the language. */
export const wingsWithoutNode: readonly string[] = ['domain', 'projections'];

export type PackageRow = {
  readonly folder: string;
  readonly packages: readonly string[];
  /** Loaded on first use only: `await import('…')`. */
  readonly isLazy?: boolean;
};

/** A package may stand in a folder that names it, and below. `@scope/*` is every package of a scope. */
export const packages: readonly PackageRow[] = [
  { folder: 'pump/aggregate.ts', packages: ['@datadog/sketches-js'] },
  {
    folder: 'pump/sinks',
    packages: [
      'csv-stringify',
      'prom-client',
      'pg',
      'pg-copy-streams',
      '@opentelemetry/*',
      'undici',
      '@platformatic/kafka',
    ],
    isLazy: true,
  },
  { folder: 'gateway', packages: ['undici', 'ws', 'ajv', 'ajv-formats', 'lru-cache'] },
  { folder: 'gateway/middleware/authentication', packages: ['jose'] },
  ...['gateway/middleware', 'gateway/upstream', 'gateway/streams'].map((folder) => ({
    folder,
    packages: [
      ...['find-my-way', 'opossum', 'http-cache-semantics', 'jq-wasm', 'xpath', '@xmldom/xmldom'],
      'fast-xml-parser',
    ],
  })),
  ...['gateway/re2.ts', 'gateway/template-port.ts'].map((folder) => ({ folder, packages: ['re2js'] })),
  { folder: 'gateway/feed', packages: ['canonicalize'] },
  { folder: 'gateway/bundles', packages: ['canonicalize', 'unzipper', 'yazl'] },
  { folder: 'gateway/plugins', packages: ['@grpc/grpc-js', 'protobufjs'] },
  { folder: 'gateway/plugins/javascript', packages: ['quickjs-emscripten'] },
  { folder: 'gateway/plugins/go', packages: ['koffi'] },
  { folder: 'gateway/analytics', packages: ['maxmind'] },
  { folder: 'gateway/streams', packages: ['avsc', 'protobufjs', '@jmespath-community/jmespath', 'yaml'] },
  {
    folder: 'gateway/streams/connectors',
    packages: ['@platformatic/kafka', 'kafkajs', 'ioredis', '@nats-io/*', 'amqplib', 'rhea', 'mqtt'],
    isLazy: true,
  },
  { folder: 'src/main.ts', packages: ['commander'] },
  { folder: 'src/cli', packages: ['commander', 'yaml', 'cli-progress', 'diff', 'rfc6902'] },
  { folder: 'src/compose', packages: ['uuid'] },
  { folder: 'src/config', packages: ['ajv', 'ajv-formats', 'yaml'] },
  { folder: 'src/telemetry', packages: ['pino', 'prom-client', '@opentelemetry/*'] },
  {
    folder: 'src/management',
    packages: [
      ...[
        'koa',
        '@koa/router',
        '@koa/bodyparser',
        '@koa/multer',
        'koa-helmet',
        'koa-compress',
        '@koa/cors',
        'raw-body',
      ],
      ...['node-forge', '@seriousme/openapi-schema-validator', '@readme/openapi-parser', 'rfc6902', 'canonicalize'],
      ...['undici', 'ajv', 'ajv-formats', 'yaml', 'uuid', '@fastify/busboy'],
    ],
  },
  {
    folder: 'src/stores',
    packages: ['pg', 'ioredis', '@kurrent/kurrentdb-client', 'msgpackr', 'canonicalize', 'uuid'],
  },
  { folder: 'src/console', packages: ['preact', '@preact/signals', 'uplot'] },
];

export type Order = {
  readonly wing: string;
  /** Rooms from the top; an import goes to a later row. `*` is every room that is not named. */
  readonly rows: readonly (readonly string[])[];
  /** Rooms of the last row may import each other, as long as there is no circle. */
  readonly isGroundOpen?: boolean;
};

export const orders: readonly Order[] = [
  {
    wing: 'domain',
    rows: [
      ['events.ts', 'restore.ts', 'apply.ts'],
      ['sealed-fields.ts'],
      [
        ...['api', 'certificate.ts', 'key.ts', 'policy.ts', 'webhook.ts', 'token.ts', 'organisation.ts', 'bundle.ts'],
        ...['gateway-group.ts', 'gateway-node.ts', 'reservation.ts'],
      ],
      ['*'],
    ],
    isGroundOpen: true,
  },
  {
    wing: 'gateway',
    rows: [
      ['gateway.ts'],
      ['reload-requests.ts'],
      ['options.ts', 'standing.ts', 'reload.ts'],
      ['feed', 'compile.ts'],
      ['check-api.ts', 'describe-chain.ts', 'compare-traffic.ts'],
      ['check-classic.ts', 'recorded-request.ts', 'checked-api.ts'],
      ['stack.ts'],
      ['middleware'],
      ['plugins', 'upstream', 'streams', 'analytics', 'events'],
      ['template-port.ts'],
      ['http', 'bundles', 'expressions.ts'],
      ['access'],
      ['ports.ts', 'settings.ts', 're2.ts'],
    ],
  },
  {
    wing: 'pump',
    rows: [
      ['pump.ts'],
      ['pipeline.ts', 'admin.ts', 'sinks.ts'],
      ['sinks', 'batches.ts', 'dead-letters.ts'],
      ['*'],
      ['ports.ts', 'sink-config.ts'],
    ],
  },
  {
    wing: 'src',
    rows: [
      ['bin.js'],
      ['main.ts'],
      ['cli'],
      ['compose'],
      ['console'],
      ['management', 'stores'],
      ['config', 'telemetry'],
    ],
  },
];

export type Family = {
  readonly folder: string;
  /** Names every leaf; leaves are not checked against it before it exists. */
  readonly table?: string;
  /** Rooms of the folder that leaves may import and that are no leaves themselves. */
  readonly shared: readonly string[];
  /** Rooms that may import leaves. */
  readonly pickers?: readonly string[];
};

export const families: readonly Family[] = [
  { folder: 'gateway/middleware', table: 'gateway/stack.ts', shared: [] },
  {
    folder: 'gateway/middleware/authentication',
    shared: ['credential.ts', 'session.ts'],
    pickers: ['authenticate.ts', 'schemes.ts'],
  },
  { folder: 'gateway/plugins', shared: ['driver.ts', 'message.ts'], pickers: ['drivers.ts', 'hook.ts'] },
  { folder: 'pump/sinks', table: 'pump/sinks.ts', shared: [] },
  { folder: 'src/management/routes', table: 'src/management/routes.ts', shared: [] },
  { folder: 'src/management/reactors', shared: [] },
  {
    folder: 'src/stores',
    shared: ['sqlite.ts', 'postgres.ts', 'postgres-migrate.ts', 'file-systems.ts', 'process-lock.ts', 'opened-log.ts'],
    pickers: ['open.ts'],
  },
  {
    folder: 'src/cli',
    table: 'src/main.ts',
    shared: [
      'audit-trail.ts',
      'confirm.ts',
      'connection.ts',
      'declared.ts',
      'declared-changes.ts',
      'dry-run.ts',
      'failure.ts',
      'fleet.ts',
      'json-input.ts',
      'moment.ts',
      'output.ts',
      'pages.ts',
      'progress.ts',
      'settings-flags.ts',
      'store-secrets.ts',
      'terminal.ts',
      'written-form.ts',
    ],
  },
];

/** What management may know of the gateway must open nothing. */
export const closedRoots: readonly string[] = [
  'gateway/check-api.ts',
  'gateway/describe-chain.ts',
  'gateway/compare-traffic.ts',
  'gateway/streams/check.ts',
];

export const openers: readonly string[] = [
  ...['undici', '@grpc/grpc-js', 'ws', 'ioredis', '@platformatic/kafka', 'kafkajs', 'amqplib', 'rhea', 'mqtt'],
  ...['node:http', 'node:https', 'node:http2', 'node:tls', 'node:net', 'node:child_process', 'node:worker_threads'],
];

/** The only file that may import `node:sqlite`. */
export const sqliteSeam = 'src/stores/sqlite.ts';

/** The drawer is closed: a tenth entry needs an ADR. */
export const entriesOfSrc: readonly string[] = [
  ...['bin.js', 'main.ts', 'cli', 'compose', 'config', 'telemetry', 'management', 'stores', 'console'],
];

export const maxLines = 350;

/** Files that a program writes; they may be longer. */
export const generated: readonly string[] = [];

export const emptyNames: readonly string[] = [
  ...['utils', 'util', 'helpers', 'helper', 'common', 'core', 'manager', 'base', 'service', 'misc', 'impl', 'index'],
];
