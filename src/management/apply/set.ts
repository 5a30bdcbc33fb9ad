/** Reads a declarative set out of the body of a request: every problem of its form at once, each with its place. */
import type { ErrorObject } from 'ajv/dist/2020.js';
import { defaultOwner, type SetKind, type SetObject, setKinds } from '../../../domain/apply.ts';
import { nearestName, type Problem } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { isObject, pointerStep, textAt } from '../../../domain/json.ts';
import { lateSchema } from '../bodies/late-schema.ts';
import { setObjectSchemas } from '../schemas/apply.ts';

/** The problems of the form of one object; pointers begin at the object. */
export type JudgeObject = (value: Json) => readonly Problem[];

export function createJudgeObject(): JudgeObject {
  const validators = Object.fromEntries(setKinds.map((kind) => [kind, lateSchema(setObjectSchemas[kind])]));
  return function judgeObject(value) {
    if (!isObject(value)) return [{ pointer: '', code: 'type', message: 'must be an object' }];
    const kind = String(value['kind']);
    const validate = Object.hasOwn(validators, kind) ? validators[kind] : undefined;
    if (!validate) return [unknownKind(value['kind'])];
    return validate(value) ? [] : validate.errors.map((error) => problemOf(error, setObjectSchemas[kind as SetKind]));
  };
}

function unknownKind(kind: Json | undefined): Problem {
  const known = setKinds.join(', ');
  if (typeof kind !== 'string') return { pointer: '/kind', code: 'required', message: `is one of ${known}` };
  const nearest = nearestName(kind, setKinds);
  const hint = nearest === undefined ? `known are ${known}` : `did you mean "${nearest}"?`;
  return { pointer: '/kind', code: 'unknown', message: `there is no such kind, ${hint}` };
}

function problemOf(
  { instancePath, keyword, params, message = 'is not valid' }: ErrorObject,
  schema: JsonObject,
): Problem {
  const name = String(params['additionalProperty'] ?? params['missingProperty'] ?? '');
  const pointer = `${instancePath}${name === '' ? '' : `/${pointerStep(name)}`}`;
  if (keyword === 'required') return { pointer, code: keyword, message: 'is required' };
  if (keyword !== 'additionalProperties') return { pointer, code: keyword, message };
  const known = instancePath === '' && isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
  const nearest = nearestName(name, known);
  return {
    pointer,
    code: keyword,
    message: `is unknown here${nearest === undefined ? '' : `, did you mean "${nearest}"?`}`,
  };
}

export type ApplyRequest = {
  readonly objects: readonly SetObject[];
  readonly owner: string;
  readonly prune: boolean;
  readonly takeOver: boolean;
  readonly allowHoles: boolean;
  readonly acceptLoss: boolean;
  readonly base?: string;
};

export type ReadSet = { readonly request: ApplyRequest; readonly problems: readonly Problem[] };

/** The members of the body have been judged by name; `problems` are those of its objects and options. */
export function readSet(body: JsonObject, judge: JudgeObject): ReadSet {
  const { objects, owner = defaultOwner, base } = body;
  const list = Array.isArray(objects) ? objects : [];
  const flags = (['prune', 'takeOver', 'allowHoles', 'acceptLoss'] as const).map(
    (name) => [name, body[name] ?? false] as const,
  );
  const problems = [
    ...(Array.isArray(objects) ? [] : [{ pointer: '/objects', code: 'type', message: 'must be a list' }]),
    ...(isOwner(owner)
      ? []
      : [{ pointer: '/owner', code: 'pattern', message: 'must be a name: letters, digits, . _ -' }]),
    ...(base === undefined || isPlace(base)
      ? []
      : [{ pointer: '/base', code: 'pattern', message: 'must be a position' }]),
    ...flags.flatMap(([name, value]) =>
      typeof value === 'boolean' ? [] : [{ pointer: `/${name}`, code: 'type', message: 'must be true or false' }],
    ),
    ...list.flatMap((object, index) =>
      judge(object).map((problem) => ({ ...problem, pointer: `/objects/${index}${problem.pointer}` })),
    ),
    ...repeated(list),
  ];
  const [prune, takeOver, allowHoles, acceptLoss] = flags.map(([, value]) => value === true);
  return {
    request: {
      objects: problems.length > 0 ? [] : list.map((object) => setObject(object as JsonObject)),
      owner: String(owner),
      prune: prune ?? false,
      takeOver: takeOver ?? false,
      allowHoles: allowHoles ?? false,
      acceptLoss: acceptLoss ?? false,
      ...(typeof base === 'string' ? { base } : {}),
    },
    problems,
  };
}

const isOwner = (value: Json): boolean => typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(value);
const isPlace = (value: Json): boolean => typeof value === 'string' && /^\d{1,20}(-\d{1,20})?$/.test(value);

const setObject = ({ $schema: _, id = '', ...object }: JsonObject): SetObject =>
  ({ ...object, id }) as unknown as SetObject;

/** One object twice in a set would be two wills. */
function repeated(list: readonly Json[]): readonly Problem[] {
  const first = new Map<string, number>();
  return list.flatMap((object, index) => {
    const id = textAt(object, 'id');
    if (id === undefined || id === '') return [];
    const name = `${textAt(object, 'kind')} ${id}`;
    const before = first.get(name);
    if (before === undefined) {
      first.set(name, index);
      return [];
    }
    return [
      {
        pointer: `/objects/${index}/id`,
        code: 'repeated',
        message: `${name} is in the set already, at /objects/${before}`,
      },
    ];
  });
}
