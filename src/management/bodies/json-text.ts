/** Reads JSON text from outside: says where it breaks without repeating it, and refuses what would not be safe to walk. */
import { bodyMalformed } from '../../../domain/errors.ts';
import type { Json } from '../../../domain/event.ts';
import { pointerStep } from '../../../domain/json.ts';
import { jsonFault } from '../../../domain/json-fault.ts';

const maxDepth = 100;

/** Own members with these names would change the objects they are copied into. */
const forbiddenNames = new Set(['__proto__', 'constructor', 'prototype']);

/** Throws the refusal `body_malformed` with line and column. */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw bodyMalformed(describeFault(text));
  }
  refuseUnsafe(value);
  return value;
}

function describeFault(text: string): string {
  const { reason, line, column, offset } = jsonFault(text);
  return `${reason} at line ${line}, column ${column} (offset ${offset})`;
}

/** Level by level, without recursion: the depth is what is not trusted yet. */
export function refuseUnsafe(root: Json): void {
  let level: readonly (readonly [pointer: string, value: Json])[] = [['', root]];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw bodyMalformed(`more than ${maxDepth} levels deep at ${level[0]?.[0]}`);
    level = level.flatMap(([pointer, value]) => {
      if (typeof value === 'number' && !Number.isFinite(value))
        throw bodyMalformed(`number out of range at ${pointer}`, pointer);
      if (typeof value === 'string' && !value.isWellFormed()) {
        throw bodyMalformed(`half of a surrogate pair in the text at ${pointer || '/'}`, pointer);
      }
      if (typeof value !== 'object' || value === null) return [];
      return Object.entries(value).map(([name, member]) => {
        if (forbiddenNames.has(name))
          throw bodyMalformed(`the name "${name}" is not allowed at ${pointer || '/'}`, `${pointer}/${name}`);
        if (!name.isWellFormed())
          throw bodyMalformed(`half of a surrogate pair in a name at ${pointer || '/'}`, pointer);
        return [`${pointer}/${pointerStep(name)}`, member] as const;
      });
    });
  }
}
