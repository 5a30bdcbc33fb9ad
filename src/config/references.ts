/** Turns written values into values: `$env:NAME` and `$file:PATH` are followed, text is read as what the key wants. */
import { readFileSync } from 'node:fs';
import type { Environment } from './environment.ts';
import type { ConfigSchema } from './schema-shapes.ts';
import { isTree, type Tree } from './tree.ts';

export type Resolved = { readonly value: unknown; readonly via?: string } | { readonly problem: string };

/** `isText` says that the value was written where everything is text: environment, flag. */
export function resolveValue(
  written: unknown,
  schema: ConfigSchema | undefined,
  env: Environment,
  isText: boolean,
): Resolved {
  if (Array.isArray(written)) return resolveItems(written, env);
  if (typeof written !== 'string') return { value: written };
  const reference = /^\$(env|file):(.*)$/s.exec(written);
  if (!reference) {
    const value = isText ? fromText(written, schema) : written;
    return Array.isArray(value) ? resolveItems(value, env) : { value };
  }
  const followed = follow(reference[1] === 'env' ? 'env' : 'file', reference[2] ?? '', env);
  if ('problem' in followed) return followed;
  return { value: fromText(followed.text, schema), via: written };
}

function resolveItems(items: readonly unknown[], env: Environment): Resolved {
  const resolved = items.map((item) =>
    isTree(item) ? resolveMembers(item, env) : resolveValue(item, undefined, env, false),
  );
  const bad = resolved.find((item) => 'problem' in item);
  return bad ?? { value: resolved.map((item) => ('value' in item ? item.value : undefined)) };
}

/** Of an object in a list: a text that it refers to stays a text. */
function resolveMembers(item: Tree, env: Environment): Resolved {
  const resolved = Object.entries(item).map(([name, member]) => {
    return [name, resolveValue(member, { type: 'string' }, env, false)] as const;
  });
  const bad = resolved.find(([, member]) => 'problem' in member)?.[1];
  if (bad) return bad;
  return {
    value: Object.fromEntries(resolved.map(([name, member]) => [name, 'value' in member ? member.value : null])),
  };
}

function follow(
  kind: 'env' | 'file',
  name: string,
  env: Environment,
): { readonly text: string } | { readonly problem: string } {
  if (kind === 'env') {
    const text = env[name];
    return text === undefined ? { problem: `names the variable ${name}, which is not set` } : { text };
  }
  try {
    return { text: readFileSync(name, 'utf8').replace(/\r?\n$/, '') };
  } catch (error) {
    return {
      problem: `names the file ${name}, which cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`,
    };
  }
}

/** What the text means for a key of this shape; what does not fit stays text and is refused by the schema. */
function fromText(text: string, schema: ConfigSchema | undefined): unknown {
  const types = schema?.type === undefined ? [] : [schema.type].flat();
  if (types.length === 0) return asJson(text, () => true);
  if (types.includes('boolean')) return truth.get(text.toLowerCase()) ?? text;
  if (types.includes('array')) return asList(text, schema?.items);
  if (types.includes('object')) return asJson(text, isTree);
  if (types.includes('integer') || types.includes('number')) return asNumber(text);
  return text;
}

const truth: ReadonlyMap<string, boolean> = new Map([
  ...(['true', 'yes', 'on', '1'].map((word) => [word, true]) as [string, boolean][]),
  ...(['false', 'no', 'off', '0'].map((word) => [word, false]) as [string, boolean][]),
]);

const asNumber = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text.trim());

function asList(text: string, items: ConfigSchema | undefined): unknown {
  if (text.trim().startsWith('[')) return asJson(text, Array.isArray);
  const parts = text.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '').map((part) => fromText(part, items));
}

function asJson(text: string, fits: (value: unknown) => boolean): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return fits(value) ? value : text;
  } catch {
    return text; // Plain text is a value too; the schema says whether it fits.
  }
}
