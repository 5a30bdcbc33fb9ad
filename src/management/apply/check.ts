/** Judges a declarative set without a server: the form of each object and everything that the command finds in it alone. */

import { portableApi, type SetObject } from '../../../domain/apply.ts';
import type { Problem, Warning } from '../../../domain/errors.ts';
import type { Json } from '../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../domain/ids.ts';
import { createCheckApi } from '../../../gateway/check-api.ts';
import { createAccessBodies } from '../access-bodies.ts';
import { nextFromBody } from '../api-next.ts';
import { nextClassic } from '../classic-commands.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import { createValidateOpenApi } from '../validate.ts';
import { createWebhookBodies } from '../webhook-bodies.ts';
import { otherId } from './apis.ts';
import { readPublicPart } from './certificates.ts';
import { createJudgeObject } from './set.ts';
import { judged } from './world.ts';

export type CheckedObject = { readonly problems: readonly Problem[]; readonly warnings: readonly Warning[] };

export type CheckObject = (value: Json) => Promise<CheckedObject>;

/** A secret that is masked in the file may be on the server. */
const onServerOnly: readonly string[] = ['secret_not_stored'];

/** Compiles the schemas once. `isStrict`: unknown keys of definitions are problems. */
export function createCheckObject({
  isStrict,
  now,
}: {
  readonly isStrict: boolean;
  readonly now: () => Date;
}): CheckObject {
  const judge = createJudgeObject();
  const checks = { check: createCheckApi(), validate: createValidateOpenApi(), secrets: noRing };
  const bodies = createAccessBodies();
  const webhooks = createWebhookBodies();
  const orgId = toOrgId('');
  const decide = async (object: SetObject): Promise<readonly Warning[]> => {
    switch (object.kind) {
      case 'api': {
        const { id, apiKind: kind = 'oas' } = object;
        const body = { kind, apiId: toApiId(id), body: portableApi(object.document), remarks: [] };
        const change = { type: 'CreateApi', dbId: '', ...body } as const;
        const next = kind === 'classic' ? nextClassic : nextFromBody;
        return (await next(checks, change, undefined, { orgId, isStrict })).settled.warnings;
      }
      case 'policy':
        bodies.policy({ ...object.document, id: object.id }, orgId);
        return [];
      case 'webhook':
        webhooks.webhook({ ...object.document, id: object.id });
        return [];
      case 'key':
        bodies.key(object.document, orgId);
        return [];
      case 'cert':
        return (await readPublicPart(object.document, now())).warnings;
    }
  };
  return async function checkObject(value) {
    const form = judge(value);
    if (form.length > 0) return { problems: form, warnings: [] };
    const object = { id: '', ...(value as object) } as SetObject;
    const idProblem = object.kind === 'api' ? otherId(object) : undefined;
    const found = await judged('/document', () => decide(object));
    const own = idProblem ? [idProblem] : [];
    if ('value' in found) {
      return { problems: own, warnings: found.value.map((one) => ({ ...one, pointer: `/document${one.pointer}` })) };
    }
    const [remote, problems] = [true, false].map((isRemote) =>
      found.problems.filter(({ code }) => onServerOnly.includes(code) === isRemote),
    );
    const warnings = (remote ?? []).map(({ pointer, code, message }) => ({ pointer, code, text: message }));
    return { problems: [...own, ...(problems ?? [])], warnings };
  };
}

/** There is nothing to open here. */
const noRing: HeldSecrets = {
  has: async () => false,
  open: async () => {
    throw new Error('no key ring without a server');
  },
};
