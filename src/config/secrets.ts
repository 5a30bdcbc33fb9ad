/** What must not be seen of a configuration, and which secrets are too weak to start with. */
import type { ConfigSchema } from './schema-shapes.ts';
import { isTree } from './tree.ts';

const mask = '***';

/** Options of sinks have no schema of their own: their names decide. */
const secretName = /(pass|token|secret|credential|authorization|api_?key|private|connection_?string)/i;

/** Values for people: secrets as `***`, passwords inside addresses too. */
export function masked(value: unknown, name: string, schema?: ConfigSchema): unknown {
  if (value === undefined || value === null) return value;
  if (schema?.writeOnly || (schema === undefined && secretName.test(name))) return mask;
  if (typeof value === 'string') return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@\s]+@/i, `$1${mask}@`);
  if (Array.isArray(value)) return value.map((item) => masked(item, name, schema));
  if (!isTree(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked(item, key)]));
}

const wellKnown = [
  ...['secret', 'admin', 'administrator', 'password', 'passwd', 'changeme', 'change-me', 'test', 'token', 'default'],
  ...['example', 'letmein', 'qwerty', 'root', 'guest', 'demo', 'welcome', 'bootstrap', 'bearer', 'null', 'undefined'],
  ...['0123456789', '1234567890', '123456', '0123456789abcdef', 'abcdef', 'abcdefghijklmnopqrstuvwxyz', 'deadbeef'],
];

/** Why the secret is refused, or undefined. The secret itself is never part of the text. */
export function weakness(secret: string, minLength: number): string | undefined {
  if (secret.length < minLength) return `is shorter than ${minLength} characters`;
  if (secret.trim() !== secret) return 'begins or ends with white space';
  const unit = repeatedUnit(secret.toLowerCase());
  const words = wellKnown.some((word) => unit === word || unit === word.replaceAll(/[^a-z0-9]/g, ''));
  return words || new Set(unit).size < 4 ? 'is a well-known value' : undefined;
}

/** `secretsecret` is no better than `secret`: the shortest text whose repetition gives it, separators aside. */
function repeatedUnit(text: string): string {
  const bare = text.replaceAll(/[^a-z0-9]/g, '');
  for (let length = 1; length <= bare.length / 2; length++) {
    const unit = bare.slice(0, length);
    if (bare === unit.repeat(Math.ceil(bare.length / length)).slice(0, bare.length)) return unit;
  }
  return bare;
}
