/** Everything that can be wrong with an API, found without opening anything: used before the append and before the swap. */
import { type ApiDocument, gatewayExtension, streamingExtension } from '../domain/api/definition.ts';
import { readDefinition } from '../domain/api/oas.ts';
import { ruleProblems, ruleWarnings } from '../domain/api/rules.ts';
import { oasExtensionSchema, streamsExtensionSchema, unknownKeys } from '../domain/api/schema/extension.ts';
import { streamingSchema } from '../domain/api/schema/streaming.ts';
import type { Problem, Warning } from '../domain/errors.ts';
import { isObject, objectAt } from '../domain/json.ts';
import { createShapeCheck, type ShapeCheck } from '../domain/json-schema.ts';
import { typeName } from '../domain/json-schema-keywords.ts';
import { createCheckClassic } from './check-classic.ts';
import { type CheckApi, type CheckedApi, readChecked } from './checked-api.ts';
import { expressionFault } from './expressions.ts';

/** The check itself is pure. Problems of one stage are reported together, the first hundred of them. */
export function createCheckApi(): CheckApi {
  const checkStreams = createShapeCheck(streamsExtensionSchema);
  const checkOas = createShapeCheck(oasExtensionSchema);
  const checkStreaming = createShapeCheck(streamingSchema);
  const checkClassic = createCheckClassic();
  const checkOpenApi: CheckApi = (api, isChecked = false) => {
    const read = isChecked ? readChecked(api) : undefined;
    if (read) return read;
    const { apiId, orgId, kind, document } = api;
    const extension = objectAt(document, gatewayExtension);
    const streaming = document[streamingExtension];
    const shape = [
      ...documentProblems(document),
      ...shapeProblems(kind === 'streams' ? checkStreams : checkOas, extension, gatewayExtension),
      ...(streaming === undefined ? [] : shapeProblems(checkStreaming, streaming, streamingExtension)),
    ];
    if (shape.length > 0 || !extension) return { problems: shape, warnings: [], stage: 'schema' };
    const remarks = () => [
      ...unknownKeys(extension, streamsExtensionSchema, `/${gatewayExtension}`),
      ...unknownKeys(streaming, streamingSchema, `/${streamingExtension}`),
      ...ruleWarnings(extension, document),
      ...streamWarnings(document),
    ];
    const rules = ruleProblems(extension, { kind, document, expressionFault });
    if (rules.length > 0) return withRemarks({ problems: rules, stage: 'rules' }, remarks);
    const { definition, problems } = readDefinition(document, { apiId, orgId, kind });
    return withRemarks(problems.length > 0 ? { problems, stage: 'rules' } : { definition, problems }, remarks);
  };
  return function checkApi(api, isChecked) {
    if (api.kind !== 'classic') return checkOpenApi(api, isChecked);
    return checkClassic(api.document, (document) => checkOpenApi({ ...api, document }, isChecked));
  };
}

/** Remarks are made when somebody asks for them: a gateway that compiles thousands of APIs does not. */
const withRemarks = (checked: Omit<CheckedApi, 'warnings'>, remarks: () => readonly Warning[]): CheckedApi => ({
  ...checked,
  get warnings() {
    return remarks();
  },
});

/** The part of OpenAPI that a gateway relies on; whether the document is valid OpenAPI is judged when it comes in. */
function documentProblems(document: ApiDocument): readonly Problem[] {
  const version = document['openapi'];
  if (typeof version !== 'string' || !/^3\.[01]\.\d+/.test(version)) {
    const message = `Schema not found for version "${typeof version === 'string' ? version : ''}"`;
    return [{ pointer: '/openapi', code: 'openapi_version', message }];
  }
  return ['info', 'paths'].flatMap((name) =>
    isObject(document[name])
      ? []
      : [
          {
            pointer: `/${name}`,
            code: 'type',
            message: `Invalid type. Expected: object, given: ${typeName(document[name])}`,
          },
        ],
  );
}

const shapeProblems = (check: ShapeCheck, value: unknown, member: string): readonly Problem[] =>
  check(value).map(({ pointer, keyword, message }) => ({
    pointer: `/${member}${pointer}`,
    keyword,
    code: keyword,
    message,
  }));

const streamWarnings = (document: ApiDocument): readonly Warning[] =>
  Object.keys(objectAt(document, streamingExtension, 'streams') ?? {}).length > 0
    ? [
        {
          pointer: `/${streamingExtension}/streams`,
          code: 'no_effect',
          text: 'streams are stored and not run by this version',
        },
      ]
    : [];
