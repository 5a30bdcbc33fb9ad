/** Documents with one thing in them that a rule speaks of, and the suite over a table of such things. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { toApiId, toOrgId } from '../../domain/ids.ts';
import { createCheckApi } from '../../gateway/check-api.ts';
import { apiDocument } from './documents.ts';

const checkApi = createCheckApi();
export const check = (document: JsonObject, kind: 'streams' | 'oas' = 'oas') =>
  checkApi({ apiId: toApiId('orders'), orgId: toOrgId('org'), kind, document });

export const server = (members: JsonObject) =>
  apiDocument({ server: { listenPath: { value: '/orders' }, ...members } });
export const auth = (members: JsonObject, components: JsonObject = {}) => ({
  ...server({ authentication: { enabled: true, ...members } }),
  components: { securitySchemes: components },
});
export const upstream = (members: JsonObject) => apiDocument({ upstream: members });
export const global = (members: JsonObject) => apiDocument({ global: members });
export const operation = (blocks: JsonObject) => apiDocument({ operations: { getA: blocks } });
export const on = (name: string, path?: string): JsonObject => ({
  enabled: true,
  functionName: name,
  ...(path ? { path } : {}),
});
export const plugins = (driver: string, lists: JsonObject) => global({ pluginConfig: { driver }, ...lists });
export const handler = (members: JsonObject) =>
  server({ eventHandlers: [{ enabled: false }, { enabled: true, ...members }] });
export const custom = (members: JsonObject, more: JsonObject = {}) =>
  apiDocument({
    server: { authentication: { enabled: true, custom: { enabled: true, ...members } } },
    global: { pluginConfig: { driver: 'grpc', ...more } },
  });
export const key = { type: 'apiKey', in: 'header', name: 'x-key' };
export const jwt = { type: 'http', scheme: 'bearer' };

export type Row = readonly [what: string, document: JsonObject, pointer: string, code: string];

/** A test per row: the definition is refused, with a problem at the place. */
export function refuses(rows: readonly Row[]): void {
  for (const [what, document, pointer, code] of rows) {
    it(what, () => {
      const { problems, definition } = check(document);
      const found = problems.map((problem) => [problem.pointer, problem.code]);
      expect(found).to.deep.include([`/x-svc-api-gateway/${pointer}`, code]);
      expect(definition).to.equal(undefined);
    });
  }
}
