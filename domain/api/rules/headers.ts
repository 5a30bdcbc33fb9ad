/** Rules on CORS and on the headers that a definition sets (api-definition design 6.3, 6.4). */
import type { Problem } from '../../errors.ts';
import type { Json, JsonObject } from '../../event.ts';
import { isOn, objectAt, textAt, texts } from '../../json.ts';
import { found, type Path, problem, type Rule } from './rule.ts';

export const checksCors: Rule = (extension) => {
  const path = ['middleware', 'global', 'cors'];
  const cors = objectAt(extension, ...path);
  if (!cors || !isOn(cors)) return [];
  const origins = texts(cors['allowedOrigins']);
  const anyOrigin = origins.length === 0 || origins.includes('*');
  return [
    ...(anyOrigin && cors['allowCredentials'] === true
      ? [problem([...path, 'allowCredentials'], 'cors_any_with_credentials', 'needs a list of origins without "*"')]
      : []),
    ...origins.flatMap((origin, index) =>
      origin.split('*').length > 2
        ? [problem([...path, 'allowedOrigins', String(index)], 'cors_origin_invalid', 'may hold one "*" at most')]
        : [],
    ),
  ];
};

const framingHeaders =
  /^(content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|proxy-connection)$/i;

const transforms: readonly Path[] = ['transformRequestHeaders', 'transformResponseHeaders'].flatMap((name) => [
  ['middleware', 'global', name],
  ['middleware', 'operations', '*', name],
]);

const lists: readonly Path[] = [
  ...transforms.map((place) => [...place, 'add']),
  ['middleware', 'operations', '*', 'mockResponse', 'headers'],
  ['server', 'eventHandlers', '*', 'headers'],
];

export function* checksHeaders(extension: JsonObject): Generator<Problem, void> {
  for (const list of lists)
    for (const { path, value } of found(extension, [...list, '*'])) yield* pairProblems(path, value);
  for (const place of transforms)
    for (const { path, value } of found(extension, [...place, 'remove', '*'])) yield* nameProblems(path, String(value));
}

const nameProblems = (path: Path, name: string): readonly Problem[] =>
  framingHeaders.test(name) ? [problem(path, 'header_not_allowed', `${name} belongs to the connection`)] : [];

function pairProblems(path: Path, pair: Json): readonly Problem[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  const hasControl = /[\u0000-\u0008\u000a-\u001f\u007f]/.test(textAt(pair, 'value') ?? '');
  const fault = 'must not hold control characters';
  const ofName = nameProblems([...path, 'name'], textAt(pair, 'name') ?? '');
  return [...ofName, ...(hasControl ? [problem([...path, 'value'], 'header_value_invalid', fault)] : [])];
}
