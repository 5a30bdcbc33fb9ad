/** Judges a declarative set without a server: the form of each object and everything that the command finds in it alone. */

import { findApiSecrets } from '../../../domain/api/secret-fields.ts';
import { portableApi, type SetKind, type SetObject } from '../../../domain/apply.ts';
import { keyInvalid, type Problem, type Warning, webhookInvalid } from '../../../domain/errors.ts';
import type { Json } from '../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../domain/ids.ts';
import { findKeySecrets } from '../../../domain/key.ts';
import { type FindSecrets, mask, strayMasks } from '../../../domain/secret-places.ts';
import { findWebhookSecrets } from '../../../domain/webhook.ts';
import { createCheckApi } from '../../../gateway/check-api.ts';
import { createAccessBodies } from '../access/access-bodies.ts';
import { nextFromBody } from '../definitions/api-next.ts';
import { nextClassic } from '../definitions/classic-commands.ts';
import { takeKeySecrets, takeWebhookSecrets } from '../definitions/definition-secrets.ts';
import { createValidateOpenApi } from '../definitions/validate.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import { createWebhookBodies } from '../webhook-bodies.ts';
import { otherId } from './apis.ts';
import { readPublicPart } from './certificates.ts';
import { createJudgeObject } from './set.ts';
import { judged } from './world.ts';

export type CheckedObject = { readonly problems: readonly Problem[]; readonly warnings: readonly Warning[] };

export type CheckObject = (value: Json) => Promise<CheckedObject>;

/** A secret that is masked in the file may be on the server. */
const onServerOnly: readonly string[] = ['secret_not_stored'];
const onServer = `${mask} keeps what the server has there; where it has nothing, the object is refused`;

const keyElsewhere: Warning = {
  pointer: '/secret',
  code: 'secret_missing',
  text: 'the private key is not in the file: the server needs it, or --allow-holes',
};

const maskAsText = (pointer: string): Warning => ({
  ...{ pointer, code: 'mask_is_text', text: `${mask} keeps nothing here: it is taken as it stands` },
});

const nothing: FindSecrets = () => [];

const findSecrets: Readonly<Record<SetKind, FindSecrets>> = {
  ...{ api: findApiSecrets, webhook: findWebhookSecrets, key: findKeySecrets, policy: nothing, cert: nothing },
};

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
      case 'webhook': {
        const { problems } = takeWebhookSecrets(webhooks.webhook({ ...object.document, id: object.id }).document);
        if (problems.length > 0) throw webhookInvalid(problems);
        return [];
      }
      case 'key': {
        const { problems } = takeKeySecrets(bodies.key(object.document, orgId).document);
        if (problems.length > 0) throw keyInvalid(problems);
        return [];
      }
      case 'cert': {
        const { warnings } = await readPublicPart(object.document, now());
        const inDocument = warnings.map((one) => ({ ...one, pointer: one.pointer.replace(/^\/document/, '') }));
        return object.document['secret'] === undefined ? inDocument : [...inDocument, keyElsewhere];
      }
    }
  };
  return async function checkObject(value) {
    const form = judge(value);
    if (form.length > 0) return { problems: form, warnings: [] };
    const object = { id: '', ...(value as object) } as SetObject;
    const idProblem = object.kind === 'api' ? otherId(object) : undefined;
    const found = await judged('/document', () => decide(object));
    const own = idProblem ? [idProblem] : [];
    const masks = strayMasks(object.document, findSecrets[object.kind]).map(maskAsText);
    if ('value' in found) {
      const warnings = [...found.value, ...masks].map((one) => ({ ...one, pointer: `/document${one.pointer}` }));
      return { problems: own, warnings };
    }
    const [remote, problems] = [true, false].map((isRemote) =>
      found.problems.filter(({ code }) => onServerOnly.includes(code) === isRemote),
    );
    const warnings = [
      ...(remote ?? []).map(({ pointer, code }) => ({ pointer, code, text: onServer })),
      ...masks.map((one) => ({ ...one, pointer: `/document${one.pointer}` })),
    ];
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
