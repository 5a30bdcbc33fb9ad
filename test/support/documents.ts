/** OpenAPI documents for tests: a small one, and one with a gateway extension whose parts can be replaced. */
import type { JsonObject } from '../../domain/event.ts';

/** A valid document without extension; members given replace its own. */
export const openApi = (members: JsonObject = {}): JsonObject => ({
  openapi: '3.0.3',
  info: { title: 'Orders', version: '1.0.0' },
  paths: {},
  servers: [{ url: 'http://127.0.0.1:9001/base' }],
  ...members,
});

type Parts = {
  readonly info?: JsonObject;
  readonly server?: JsonObject;
  readonly upstream?: JsonObject;
  readonly global?: JsonObject;
  readonly operations?: JsonObject;
};

/** The block of an API that asks nobody for a key, and says so. */
export const keyless: JsonObject = { authentication: { enabled: false } };

/** A complete `x-svc-api-gateway`; each part given is laid over its default. */
export const extensionOf = ({ info, server, upstream, global, operations }: Parts = {}): JsonObject => ({
  info: { name: 'Orders', state: { active: true, internal: false }, ...info },
  server: { listenPath: { value: '/orders/', strip: true }, ...keyless, ...server },
  upstream: { url: 'http://127.0.0.1:9001/', ...upstream },
  ...(global || operations
    ? { middleware: { ...(global ? { global } : {}), ...(operations ? { operations } : {}) } }
    : {}),
});

export const apiDocument = (parts: Parts = {}, members: JsonObject = {}): JsonObject =>
  openApi({ 'x-svc-api-gateway': extensionOf(parts), ...members });
