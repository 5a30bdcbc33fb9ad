/** Takes secrets out of log fields, whatever their depth: by the name of the field, and by the form of a credential in a text. */
import { withoutKeys } from '../../domain/key-text.ts';
import { mask } from '../../domain/secret-places.ts';

const deepest = 8;

/** Compared with the end of the name without separators: `authorization`, `x-svc-authorization`, `bootstrapToken`. */
const secretEndings = [
  ...['authorization', 'cookie', 'cookies', 'token', 'secret', 'password', 'passphrase', 'credential', 'credentials'],
  ...['apikey', 'privatekey', 'privatekeypem', 'masterkey', 'connectionstring'],
];

const isSecretName = (name: string): boolean => {
  const bare = name.replaceAll(/[-_.]/g, '').toLowerCase();
  return secretEndings.some((ending) => bare.endsWith(ending));
};

/** A key may stand in the place of its hash, one of a form of its own too. */
const keyInPath = /(\/+api\/+keys\/+)(?!svck_\*|(?:[0-9a-f]{64}|preview)(?![^/\s?"]))[^/\s?"]+/gi;

/** Credentials that stand inside texts: schemes, addresses with a password, keys in PEM. */
export const redactText = (text: string): string =>
  withoutKeys(text.replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]{4,}/gi, `$1 ${mask}`))
    .replaceAll(/\bsvct_([a-z0-9-]{1,63})_[\w-]{20,}/g, `svct_$1_${mask}`)
    .replaceAll(keyInPath, `$1${mask}`)
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^/@\s]+@/gi, `$1${mask}@`)
    .replaceAll(/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]*(-----END [A-Z ]*PRIVATE KEY-----)?/g, mask);

/** Plain data for a log line: an error becomes its parts, a big number its digits. */
export const redact = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  members(Object.entries(fields), [fields]);

function members(entries: readonly (readonly [string, unknown])[], above: readonly object[]): Record<string, unknown> {
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isSecretName(name) && value != null ? mask : plain(value, above)]),
  );
}

function plain(value: unknown, above: readonly object[]): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value) || above.length >= deepest) return '…';
  const here = [...above, value];
  if (value instanceof Error) return errorParts(value, here);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (value instanceof Map || value instanceof Set) return listed([...value], here);
  return Array.isArray(value) ? listed(value, here) : members(Object.entries(value), here);
}

/** Raw header lists hold a name and then its value. */
const listed = (items: readonly unknown[], above: readonly object[]): readonly unknown[] =>
  items.map((item, index) => {
    const before = items[index - 1];
    return index % 2 === 1 && typeof before === 'string' && isSecretName(before) ? mask : plain(item, above);
  });

function errorParts(error: Error, above: readonly object[]): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  const own = Object.entries(error).filter(([key]) => !['name', 'message', 'stack', 'cause'].includes(key));
  return {
    type: name,
    message: redactText(message),
    ...members(own, above),
    ...(cause === undefined ? {} : { cause: plain(cause, above) }),
    ...(stack === undefined ? {} : { stack: redactText(stack) }),
  };
}
