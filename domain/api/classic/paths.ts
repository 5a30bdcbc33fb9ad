/** Paths of Classic definitions, regular expressions by habit, as exact templates and back (api-definition design 15.3). */
import type { JsonObject } from '../../event.ts';
import { at, isObject, textAt } from '../../json.ts';

const constrainMember = 'x-svc-constrain';

/** `pattern` absent: any segment. */
export type PathParameter = { readonly name: string; readonly pattern?: string };

export type ReadPath =
  | {
      readonly template: string;
      readonly parameters: readonly PathParameter[];
      /** It said itself where it begins and ends. */
      readonly isAnchored: boolean;
    }
  | { readonly problem: string };

const literalPattern = /^[A-Za-z0-9._~%!&',;=:@-]+$/;
/** Segments of text and parameters without expression. */
const mixedPattern = /^(?:[A-Za-z0-9._~%!&',;=:@-]|\{[A-Za-z0-9_.-]+\})+$/;
const oneParameter = /^\{([A-Za-z0-9_.-]+)(?::(.+))?\}$/s;

/** `isStrict`: a dot is what it is in an expression, any character; otherwise a dot. */
export function readPath(text: string, isStrict: boolean): ReadPath {
  const inner = text.replace(/^\^/, '').replace(/(?<!\\)\$$/, '');
  const isAnchored = text.startsWith('^') && inner.length < text.length - 1;
  const segments = splitSegments(inner.replace(/^\/+/, ''));
  if (!segments) return { problem: 'an expression that reaches over a slash cannot be written as a path' };
  const parameters: PathParameter[] = [];
  const written: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    const read = readSegment(segment, { isStrict, isLast, count: parameters.filter(isMade).length });
    if ('problem' in read) return read;
    parameters.push(...read.parameters);
    written.push(read.text);
  }
  const names = parameters.map(({ name }) => name);
  if (new Set(names).size < names.length) return { problem: 'a parameter has the name of another' };
  return { template: `/${written.join('/')}`, parameters, isAnchored };
}

const isMade = ({ name }: PathParameter): boolean => /^customRegex\d+$/.test(name);

/** At slashes that stand in no bracket; undefined when a bracket holds one or never closes. */
function splitSegments(text: string): readonly string[] | undefined {
  const segments: string[] = [''];
  let depth = 0;
  let isInClass = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? '';
    const next = character === '\\' ? (text[++index] ?? '') : '';
    if (character === '[') isInClass = true;
    else if (character === ']') isInClass = false;
    else if (!isInClass && /[({]/.test(character)) depth++;
    else if (!isInClass && /[)}]/.test(character)) depth--;
    if (character === '/' || next === '/') {
      if (depth !== 0 || isInClass) return undefined;
      segments.push('');
      continue;
    }
    segments[segments.length - 1] += character + next;
  }
  return depth === 0 && !isInClass ? segments : undefined;
}

type SegmentContext = { readonly isStrict: boolean; readonly isLast: boolean; readonly count: number };
type ReadSegment =
  | { readonly text: string; readonly parameters: readonly PathParameter[] }
  | { readonly problem: string };

function readSegment(segment: string, { isStrict, count }: SegmentContext): ReadSegment {
  if (segment === '' || segment === '*' || segment === '.*') {
    return { text: segment === '' ? '' : '*', parameters: [] };
  }
  const escaped = segment.replace(/\\([.\-~_])/g, '$1');
  if (literalPattern.test(escaped) && !(isStrict && /(?<!\\)\./.test(segment)))
    return { text: escaped, parameters: [] };
  const parameter = oneParameter.exec(segment);
  if (parameter) return readParameter(parameter[1] ?? '', parameter[2], segment);
  if (mixedPattern.test(segment) && !(isStrict && segment.replace(/\{[^}]*\}/g, '').includes('.'))) {
    const names = [...segment.matchAll(/\{([^}]+)\}/g)].map(([, name]) => ({ name: name ?? '' }));
    return { text: segment, parameters: names };
  }
  const pattern = segment.replace(/\{[A-Za-z_][A-Za-z0-9_.-]*\}/g, '[^/]+');
  return customExpression(pattern, count + 1);
}

function readParameter(name: string, expression: string | undefined, segment: string): ReadSegment {
  if (expression === undefined) return { text: segment, parameters: [{ name }] };
  const pattern = anchored(expression);
  return isExpression(pattern)
    ? { text: `{${name}}`, parameters: [{ name, pattern }] }
    : { problem: `the expression of the parameter "${name}" does not read` };
}

function customExpression(expression: string, number: number): ReadSegment {
  const pattern = anchored(expression);
  if (!isExpression(pattern)) return { problem: 'the expression does not read' };
  const name = `customRegex${number}`;
  return { text: `{${name}}`, parameters: [{ name, pattern }] };
}

const anchored = (expression: string): string => (expression.includes('|') ? `^(?:${expression})$` : `^${expression}$`);

const bare = (pattern: string): string =>
  /^\^\(\?:(.*)\)\$$/s.exec(pattern)?.[1] ?? /^\^(.*)\$$/s.exec(pattern)?.[1] ?? pattern;

function isExpression(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp && !/\(\?[=!<]|\\[1-9]/.test(text);
  } catch {
    return false;
  }
}

/** As OpenAPI declares them. */
export const declared = (parameters: readonly PathParameter[]): readonly JsonObject[] =>
  parameters.map(({ name, pattern }) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', ...(pattern === undefined ? {} : { pattern }) },
    ...(pattern === undefined ? {} : { [constrainMember]: true }),
  }));

/** The template as a Classic path, its constrained parameters with their expressions; strictly read, a dot is escaped. */
export function writePath(template: string, parameters: readonly unknown[], isStrict: boolean): string {
  const constrained = new Map(
    parameters
      .filter(isObject)
      .filter((parameter) => parameter['in'] === 'path' && parameter[constrainMember] === true)
      .map((parameter) => [textAt(parameter, 'name') ?? '', at(parameter, 'schema', 'pattern')] as const),
  );
  return template.replace(/\{([^}]+)\}|\./g, (whole, name: string | undefined) => {
    if (name === undefined) return isStrict ? '\\.' : whole;
    const pattern = constrained.get(name);
    if (typeof pattern !== 'string') return whole;
    return isMade({ name }) ? bare(pattern) : `{${name}:${bare(pattern)}}`;
  });
}
