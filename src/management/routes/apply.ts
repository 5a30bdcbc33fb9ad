/** Declarative sets: the whole of one is one command, and a dry run of it is the difference. */
import { withOwnNames } from '../../../domain/api/compat-names.ts';
import { type SetKind, setKinds } from '../../../domain/apply.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { at, isObject } from '../../../domain/json.ts';
import { askerOf } from '../access/access-commands.ts';
import { readSet } from '../apply/set.ts';
import { readOptions } from '../bodies/bodies.ts';
import { booleanParameter, type Call, commandContext } from '../call.ts';
import { Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';
import { hasScope, type Scope } from '../scopes.ts';

const scopes: Readonly<Record<SetKind, Scope>> = {
  ...{ api: 'apis:write', cert: 'certs:write', key: 'keys:write', policy: 'policies:write' },
  webhook: 'webhooks:write',
};

async function apply(call: Call, services: Services): Promise<Reply> {
  const names = ['objects', 'owner', 'prune', 'takeOver', 'allowHoles', 'acceptLoss', 'base'];
  const body = readOptions(call.body, names);
  const { request, problems } = readSet(withOwnDocuments(body, call.compatPrefix), services.judgeObject);
  if (problems.length > 0) {
    const lines = problems.slice(0, maxListed).map(({ pointer, message }) => `${pointer}: ${message}`);
    throw new Rejection('apply_refused', `Nothing is applied:\n${lines.join('\n')}`, { problems });
  }
  const { orgId, scopes: held } = call.caller;
  const missing = setKinds.filter(
    (kind) => request.objects.some((object) => object.kind === kind) && !hasScope(held, scopes[kind]),
  );
  if (missing.length > 0) {
    const needed = missing.map((kind) => scopes[kind]).join(', ');
    throw new Rejection('scope_missing', `access denied: the objects of the set need ${needed}`);
  }
  // A token for some APIs deletes none: which ones there are beside these is not its to know.
  if (request.prune && call.caller.apis) throw new Rejection('scope_missing', 'access denied: prune needs every API');
  const { ifMatch: __, ifNoneMatch: ___, ...asker } = askerOf(call);
  const applier = { ...asker, mayWrite: (kind: SetKind) => hasScope(held, scopes[kind]) };
  const isDryRun = booleanParameter(call, 'dryRun');
  if (call.rules.needsIfMatch && request.base === undefined && !isDryRun) {
    throw new Rejection('precondition_required', 'base is required: the revision that a dry run was made on');
  }
  const { lacksIfMatch: _, ...context } = commandContext(call);
  const isStrict = booleanParameter(call, 'strict') || call.rules.strictKeys;
  return services.commands.run(context, services.applyCommand({ orgId, applier, request, isStrict, isDryRun }));
}

/** Documents of APIs may have the names of another prefix. */
function withOwnDocuments(body: JsonObject, compatPrefix: string | undefined): JsonObject {
  const { objects } = body;
  if (compatPrefix === undefined || !Array.isArray(objects)) return body;
  const own = objects.map((object: Json): Json => {
    const document = at(object, 'document');
    if (!isObject(object) || object['kind'] !== 'api' || !isObject(document)) return object;
    return { ...object, document: withOwnNames(document, compatPrefix) };
  });
  return { ...body, objects: own };
}

const maxListed = 100;

const example = {
  objects: [{ kind: 'policy', id: 'gold', labels: { owner: 'shop' }, document: { name: 'gold', rate: 100, per: 60 } }],
  owner: 'shop',
  prune: false,
};

export const applyRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/config/apply',
    operationId: 'applyConfig',
    summary:
      'Applies a set of objects, all or nothing; needs the write scope of each kind in it. Deletes with `prune` only, and then what carries the same owner',
    tag: 'config',
    scope: 'self',
    form: 'problem',
    isHeavy: true,
    parameters: [...parameter.writeParameters, parameter.strict],
    body: {
      types: ['application/json'],
      maxBytes: 64 * 1024 * 1024,
      description: 'The set',
      schema: 'ApplySet',
      example,
    },
    answer: {
      description: 'What changed; with `dryRun=true` what would, with both documents and the difference',
      schema: { $ref: '#/components/schemas/Applied' },
      example: {
        base: '12',
        owner: 'shop',
        objects: [{ kind: 'policy', id: 'gold', name: 'gold', change: 'created', owner: 'shop' }],
        counts: { created: 1, updated: 0, deleted: 0, unchanged: 0 },
        existing: { cert: 0, api: 2, policy: 0, key: 0 },
        warnings: [],
      },
    },
    errors: [
      ...(['apply_refused', 'base_moved', 'body_malformed', 'precondition_required'] as const),
      ...(['revision_not_reached', 'too_many_conflicts'] as const),
    ],
    handle: apply,
  },
];
