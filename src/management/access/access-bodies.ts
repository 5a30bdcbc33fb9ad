/** What the bodies of requests about keys and policies say, once they are judged: documents in one form. */
import type { ErrorObject } from 'ajv/dist/2020.js';
import { keyInvalid, type Problem, policyInvalid } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { isObject, objectAt, pointerStep, textAt, withoutMember } from '../../../domain/json.ts';
import { expressionOf, isPlainAddress } from '../../../gateway/access/path-grant.ts';
import { expressionFault } from '../../../gateway/expressions.ts';
import type { Sent } from '../bodies/bodies.ts';
import { lateSchema } from '../bodies/late-schema.ts';
import { readPatchBody } from '../definitions/patch-body.ts';
import { accessSchemas } from '../schemas/access.ts';

/** `remarks`: what of the body was not heard. */
export type AccessBody = { readonly document: JsonObject; readonly remarks: readonly string[] };

/** `counters`: where the quota of the key is to begin; not part of the document. */
export type KeyBody = AccessBody & { readonly counters: JsonObject };

export type AccessBodies = {
  /** `key`: the caller's own. */
  readonly newKey: (body: JsonObject, orgId: string) => KeyBody & { readonly key?: string };
  readonly key: (body: JsonObject, orgId: string) => KeyBody;
  /** `id` as in the body, where it is one. */
  readonly policy: (body: JsonObject, orgId: string) => AccessBody & { readonly id?: string };
};

const maxMetadataBytes = 16 * 1024;

export function createAccessBodies(): AccessBodies {
  const judged = (name: string, refuse: (problems: readonly Problem[]) => Error) => {
    const validate = lateSchema(accessSchemas[name] as JsonObject);
    return (body: JsonObject): void => {
      const problems = validate(body) ? furtherProblems(body) : validate.errors.map(problemOf);
      if (problems.length > 0) throw refuse(problems.slice(0, maxProblems));
    };
  };
  const [newKey, key] = [judged('KeyRequest', keyInvalid), judged('KeyDocument', keyInvalid)];
  const policy = judged('PolicyRequest', policyInvalid);
  return {
    newKey: (body, orgId) => {
      newKey(body);
      const { key: own, ...document } = body;
      return { ...keyDocument(document, orgId), ...(typeof own === 'string' ? { key: own } : {}) };
    },
    key: (body, orgId) => {
      key(body);
      return keyDocument(body, orgId);
    },
    policy: (body, orgId) => {
      policy(body);
      const { id } = body;
      return { ...policyDocument(body, orgId), ...(typeof id === 'string' ? { id } : {}) };
    },
  };
}

const maxProblems = 100;

/** Without values: one of them may be a key. */
function problemOf({ instancePath, keyword, message = '', params }: ErrorObject): Problem {
  const member = String(params['additionalProperty'] ?? params['missingProperty'] ?? '');
  const pointer = `${instancePath}${member === '' ? '' : `/${pointerStep(member)}`}`;
  return { pointer, code: keyword, message: keyword === 'additionalProperties' ? 'is unknown here' : message };
}

function furtherProblems(body: JsonObject): readonly Problem[] {
  const { meta_data: metadata = {}, access_rights: rights = {} } = body;
  const isLong = Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes;
  const long = { pointer: '/meta_data', code: 'size', message: `is larger than ${maxMetadataBytes} bytes` };
  const other = Object.entries(isObject(rights) ? rights : {}).flatMap(([id, right]) => {
    const { api_id: named = id } = isObject(right) ? right : {};
    return named === id
      ? []
      : [{ pointer: `/access_rights/${id}/api_id`, code: 'api_id', message: 'differs from the name of the entry' }];
  });
  return [...(isLong ? [long] : []), ...other, ...addressProblems(rights)];
}

/** An expression takes a fraction of a millisecond; nobody needs so many of them in one key. */
const maxExpressions = 1_000;

/** An address that is no expression would grant nothing, silently. */
function addressProblems(rights: Json): readonly Problem[] {
  const addresses = Object.entries(isObject(rights) ? rights : {}).flatMap(([id, right]) => {
    const urls = isObject(right) && Array.isArray(right['allowed_urls']) ? right['allowed_urls'] : [];
    return urls.flatMap((entry: Json, index) => {
      const url = textAt(entry, 'url') ?? '';
      const pointer = `/access_rights/${id}/allowed_urls/${index}/url`;
      return isPlainAddress(url) ? [] : [{ url, pointer }];
    });
  });
  if (addresses.length > maxExpressions) {
    const message = `has more than ${maxExpressions} addresses with expressions`;
    return [{ pointer: '/access_rights', code: 'size', message }];
  }
  return addresses.flatMap(({ url, pointer }) => {
    const fault = expressionFault(expressionOf(url));
    return fault === undefined ? [] : [{ pointer, code: 'expression', message: fault }];
  });
}

/** Gateways count; a body may say where they begin. */
const counterNames: readonly string[] = ['quota_remaining', 'quota_renews'];
const isCounter = ([name]: readonly [string, Json]): boolean => counterNames.includes(name);

/** Whoever names another organisation does not write there. */
export const foreignRemarks = ({ org_id: named = '' }: JsonObject, orgId: string): readonly string[] =>
  named === '' || named === orgId ? [] : ["/org_id: stored under the caller's organisation"];

/** What is set here, or counted elsewhere, is not taken from the body. */
function own(body: JsonObject, orgId: string): KeyBody {
  const { org_id: _, date_created: __, last_updated: ___, ...rest } = body;
  return {
    document: Object.fromEntries(Object.entries(rest).filter((entry) => !isCounter(entry))),
    counters: Object.fromEntries(Object.entries(rest).filter(isCounter)),
    remarks: foreignRemarks(body, orgId),
  };
}

function keyDocument(body: JsonObject, orgId: string): KeyBody {
  const { document, ...told } = own(body, orgId);
  const { apply_policy_id: one, apply_policies: several = [], ...rest } = document;
  const named = Array.isArray(several) ? several : [];
  const policies: readonly Json[] = one === undefined || named.includes(one) ? named : [...named, one];
  return { ...told, document: policies.length === 0 ? rest : { ...rest, apply_policies: policies } };
}

function policyDocument(body: JsonObject, orgId: string): AccessBody {
  const { document, counters, remarks } = own(withoutMember(body, 'id'), orgId);
  const { active, is_inactive: isInactive, state, ...rest } = document;
  const read = isInactive === true ? 'deny' : active === false ? 'draft' : 'active';
  return {
    document: { ...rest, access_rights: objectAt(rest, 'access_rights') ?? {}, state: state ?? read },
    remarks: [...remarks, ...Object.keys(counters).map((name) => `/${name}: a counter of keys, not stored`)],
  };
}

/** What a PATCH makes of the document before: a merge patch, also as plain JSON, or a JSON patch. */
export async function readAccessPatch({ body, header }: Sent): Promise<(before: JsonObject) => JsonObject> {
  const isPlain = /^application\/json\s*(?:;|$)/i.test(header('content-type') ?? '');
  const asked = (name: string): string | undefined =>
    isPlain && name === 'content-type' ? 'application/merge-patch+json' : header(name);
  return (await readPatchBody({ body, header: asked })).over;
}
