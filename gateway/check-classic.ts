/** Judges a Classic definition: its own shape, then what it becomes, with problems at the places of the definition. */
import { type AsOas, toOas } from '../domain/api/classic/codec.ts';
import { ownVersions, withoutVersions } from '../domain/api/classic/own-versions.ts';
import { classicSchema } from '../domain/api/classic/schema.ts';
import { asVersion, ownVersionProblems, readOwnVersioning } from '../domain/api/classic-versions.ts';
import type { ApiDefinition, ApiDocument } from '../domain/api/definition.ts';
import { unknownKeys } from '../domain/api/schema/extension.ts';
import type { Problem, Warning } from '../domain/errors.ts';
import type { Json, JsonObject } from '../domain/event.ts';
import { isObject } from '../domain/json.ts';
import { createShapeCheck } from '../domain/json-schema.ts';
import { pathOf, pointerOf } from '../domain/secret-places.ts';

/** What is said of the OpenAPI form of a definition, or of one of its versions. */
type Judged = {
  readonly definition?: ApiDefinition;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Warning[];
  readonly stage?: 'schema' | 'rules';
};

type JudgeOas = (document: ApiDocument) => Judged;

/** A definition to convert; `name` of a version inside the one that came in. */
type Form = { readonly name?: string; readonly form: JsonObject };

export function createCheckClassic(): (document: JsonObject, judge: JudgeOas) => Judged {
  const check = createShapeCheck(classicSchema);
  return function checkClassic(document, judge) {
    const shape = check(document).map(({ pointer, keyword, message }) => ({
      pointer,
      keyword,
      code: keyword,
      message,
    }));
    if (shape.length > 0) return { problems: shape, warnings: [], stage: 'schema' };
    // Versions that no request can choose, or too many of them, are not looked into.
    const ofVersions = ownVersionProblems(document);
    if (ofVersions.length > 0) return { problems: ofVersions, warnings: [], stage: 'schema' };
    const judged = formsOf(document).map((one) => judgeForm(one, document, judge));
    const problems = distinct(judged.flatMap(({ checked }) => checked.problems)).slice(0, maxProblems);
    const stage = judged.find(({ checked }) => checked.stage !== undefined)?.checked.stage;
    const definition = problems.length > 0 ? undefined : definitionOf(document, judged);
    return {
      ...(definition ? { definition } : {}),
      problems,
      ...(stage ? { stage } : {}),
      get warnings() {
        const all = judged.flatMap(({ checked }) => checked.warnings);
        return [...unknownKeys(document, classicSchema, ''), ...distinct(all)];
      },
    };
  };
}

const maxProblems = 100;

/** First what versions share. */
const formsOf = (document: JsonObject): readonly Form[] => [
  { form: withoutVersions(document) },
  ...ownVersions(document),
];

type JudgedForm = Form & { readonly checked: Judged };

function judgeForm(one: Form, document: JsonObject, judge: JudgeOas): JudgedForm {
  const converted = toOas(one.form);
  const judged = judge(converted.document);
  const atPlace = classicPlaces(converted, document);
  const { definition, stage, problems } = judged;
  const checked: Judged = {
    ...(definition ? { definition: asVersion(definition, one.form, one.name) } : {}),
    ...(stage ? { stage } : {}),
    problems: problems.map(atPlace),
    get warnings() {
      return judged.warnings.map(atPlace);
    },
  };
  return { ...one, checked };
}

/** What versions share is judged with each of them. */
const distinct = <Remark extends Problem | Warning>(remarks: readonly Remark[]): readonly Remark[] => [
  ...new Map(remarks.map((remark) => [JSON.stringify(remark), remark])).values(),
];

/** None unless all of them are good. */
function definitionOf(document: JsonObject, [shared, ...versions]: readonly JudgedForm[]): ApiDefinition | undefined {
  const definitions = versions.flatMap(({ checked }) => checked.definition ?? []);
  const versioning = readOwnVersioning(document, definitions);
  const definition = shared?.checked.definition;
  return definition && versioning ? { ...definition, ownVersions: versioning } : definition;
}

const through = (document: Json, path: readonly string[]): Json | undefined =>
  path.reduce(
    (current: Json | undefined, step) =>
      Array.isArray(current) ? current[Number(step)] : isObject(current) ? current[step] : undefined,
    document,
  );

/** What is a list there may be a map here: of values, or of lists that stand one behind the other there. */
function stepsInto(value: Json | undefined, steps: readonly string[]): readonly string[] {
  const [first, ...others] = steps;
  if (first === undefined || !isObject(value)) return steps;
  const places = Object.entries(value).flatMap(([name, member]) =>
    Array.isArray(member) ? member.map((_, index) => [name, String(index)]) : member === null ? [] : [[name]],
  );
  return [...(places[Number(first)] ?? []), ...others];
}

type AtPlace = <Remark extends { readonly pointer: string }>(remark: Remark) => Remark;

/** The same remark at the place that the user wrote; one that stands for no place of his keeps its own. */
export function classicPlaces({ origins }: AsOas, document: JsonObject): AtPlace {
  let places: ReadonlyMap<string, readonly string[]> | undefined;
  return (remark) => {
    // Most definitions are remarked upon by nobody. Of two origins of one place the first counts.
    places ??= new Map(origins.toReversed().map(({ oas, classic }) => [pointerOf(oas), classic] as const));
    const path = pathOf(remark.pointer);
    for (let end = path.length; end > 0; end--) {
      const above = places.get(pointerOf(path.slice(0, end)));
      if (!above) continue;
      const rest = path.slice(end).filter((step) => /^\d+$/.test(step));
      return { ...remark, pointer: pointerOf([...above, ...stepsInto(through(document, above), rest)]) };
    }
    const place = placeBelow(origins, document, path);
    return place ? { ...remark, pointer: pointerOf(place) } : remark;
  };
}

/** Of a whole block: the switch that turns it on, or else its first member. */
function placeBelow(
  origins: AsOas['origins'],
  document: JsonObject,
  path: readonly string[],
): readonly string[] | undefined {
  const below = origins.filter(
    ({ oas, classic }) => path.every((step, index) => oas[index] === step) && through(document, classic) !== undefined,
  );
  const place =
    below.find(({ classic }) => through(document, classic) === true) ??
    below.find(({ oas }) => oas.at(-1) === 'enabled') ??
    below[0];
  return place?.classic;
}
