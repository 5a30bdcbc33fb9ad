/** Judges a document of any kind as a command would that stores it, and stores nothing. */
import { type ApiKind, gatewayExtension, streamingExtension } from '../../../domain/api/definition.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../domain/ids.ts';
import { objectAt, textAt } from '../../../domain/json.ts';
import { createCheckApi } from '../../../gateway/check-api.ts';
import { nextFromBody } from '../definitions/api-next.ts';
import { createValidateOpenApi } from '../definitions/validate.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import { type CheckedObject, type CheckObject, createCheckObject } from './check.ts';
import { judged } from './world.ts';

export type JudgeDocument = (body: JsonObject, options: { readonly isStrict: boolean }) => Promise<CheckedObject>;

/** Of a document that names no id. */
const anyId = 'document';

export function createJudgeDocument(now: () => Date): JudgeDocument {
  const checks = { check: createCheckApi(), validate: createValidateOpenApi(), secrets: noRing };
  const objects = new Map<boolean, CheckObject>();
  return async function judgeDocument(body, { isStrict }) {
    if (typeof body['kind'] === 'string') {
      // Schemas of objects are compiled when the first one comes.
      const check = objects.get(isStrict) ?? createCheckObject({ isStrict, now });
      objects.set(isStrict, check);
      return check(body);
    }
    const { kind, id, document } = definitionIn(body);
    const found = await judged('', () => {
      const change = { type: 'CreateApi', dbId: '', kind, apiId: toApiId(id), body: document, remarks: [] } as const;
      return nextFromBody(checks, change, undefined, { orgId: toOrgId(''), isStrict });
    });
    return 'value' in found
      ? { problems: [], warnings: found.value.settled.warnings }
      : { problems: found.problems, warnings: [] };
  };
}

/** A definition by itself: Classic (also wrapped), OAS, or with streams. */
function definitionIn(body: JsonObject): {
  readonly kind: ApiKind;
  readonly id: string;
  readonly document: JsonObject;
} {
  const inner = objectAt(body, 'api_definition') ?? body;
  const isOpenApi = inner['openapi'] !== undefined || inner[gatewayExtension] !== undefined;
  if (!isOpenApi && ['api_id', 'proxy', 'version_data'].some((name) => inner[name] !== undefined)) {
    return { kind: 'classic', id: textAt(inner, 'api_id') || anyId, document: inner };
  }
  const kind = body[streamingExtension] === undefined ? 'oas' : 'streams';
  return { kind, id: textAt(body, gatewayExtension, 'info', 'id') || anyId, document: body };
}

/** There is nothing to open: a mask in a document alone stands for nothing. */
const noRing: HeldSecrets = {
  has: async () => false,
  open: async () => {
    throw new Error('a document alone has no stored secrets');
  },
};
