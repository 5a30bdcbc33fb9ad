/** Removes and adds headers on the way in and on the way out (api-definition design 6.4). */
import type { HeaderTransform } from '../../../domain/api/definition.ts';
import type { Context, Step } from '../../http/context.ts';
import { HeaderNames, withoutHeaders } from '../../http/headers.ts';
import { type Template, template } from './variables.ts';

type Added = { readonly name: string; readonly value: string | Template };

type Plan = {
  /** What goes: the names to remove, and those that are set anew. */
  readonly gone: HeaderNames;
  readonly added: readonly Added[];
  /** The part of `added` that is the same for every request, as a raw list; undefined when a value has variables. */
  readonly fixed: readonly string[] | undefined;
};

export function requestHeaders(transform: HeaderTransform, hasVariables: boolean): Step {
  const host = transform.add.findLast(({ name }) => name.toLowerCase() === 'host');
  const add = transform.add.filter(({ name }) => name.toLowerCase() !== 'host');
  const plan = planOf({ ...transform, add }, hasVariables);
  const hostValue = host && template(host.value, hasVariables);
  return function requestHeaders(context) {
    context.headers = applied(plan, context.headers, context);
    if (hostValue !== undefined) context.upstreamHost = filled(hostValue, context);
    return undefined;
  };
}

export function responseHeaders(transform: HeaderTransform, hasVariables: boolean): Step {
  const plan = planOf(transform, hasVariables);
  return function responseHeaders(context) {
    if (context.answer) context.answer.headers = applied(plan, context.answer.headers, context);
    return undefined;
  };
}

function planOf({ remove, add }: HeaderTransform, hasVariables: boolean): Plan {
  const added = add.map(({ name, value }) => ({ name, value: template(value, hasVariables) }));
  const gone = new HeaderNames([...remove, ...add.map(({ name }) => name)]);
  const fixed = added.flatMap(({ name, value }) => (typeof value === 'string' ? [name, printable(value)] : []));
  return { gone, added, fixed: fixed.length === added.length * 2 ? fixed : undefined };
}

function applied({ gone, added, fixed }: Plan, headers: readonly string[], context: Context): string[] {
  const result = withoutHeaders(headers, gone);
  if (fixed) for (const part of fixed) result.push(part);
  else for (const { name, value } of added) result.push(name, filled(value, context));
  return result;
}

const filled = (value: string | Template, context: Context): string =>
  typeof value === 'string' ? value : printable(value(context));

/** A variable may bring anything; what no header may hold is taken out, other characters go as UTF-8 bytes. */
function printable(text: string): string {
  if (/^[\t\x20-\x7e]*$/.test(text)) return text;
  return Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');
}
