/** Rules on CORS and on the headers that a definition sets (api-definition design 6.3, 6.4). */
import type { Json } from '../../event.ts';
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

const lists: readonly Path[] = [
  ...['transformRequestHeaders', 'transformResponseHeaders'].flatMap((name) => [
    ['middleware', 'global', name, 'add'],
    ['middleware', 'operations', '*', name, 'add'],
  ]),
  ['middleware', 'operations', '*', 'mockResponse', 'headers'],
  ['server', 'eventHandlers', '*', 'headers'],
];

export const checksHeaders: Rule = (extension) =>
  lists
    .values()
    .flatMap((list) => found(extension, [...list, '*']).flatMap(({ path, value }) => pairProblems(path, value)));

function pairProblems(path: Path, pair: Json) {
  const name = textAt(pair, 'name') ?? '';
  if (framingHeaders.test(name)) {
    return [problem([...path, 'name'], 'header_not_allowed', `${name} belongs to the connection`)];
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  return /[\u0000-\u0008\u000a-\u001f\u007f]/.test(textAt(pair, 'value') ?? '')
    ? [problem([...path, 'value'], 'header_value_invalid', 'must not hold control characters')]
    : [];
}
