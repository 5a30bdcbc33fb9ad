/** Raw header lists (name, value, name, value …) as they came: look-up, change, and what may not be passed on. */

export type RawHeaders = readonly string[];

const isNamed = (name: string, lowerCase: string): boolean =>
  name.length === lowerCase.length && (name === lowerCase || name.toLowerCase() === lowerCase);

/** The first value; `lowerCase` is the name in lower case. */
export function headerValue(headers: RawHeaders, lowerCase: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (isNamed(headers[i] as string, lowerCase)) return headers[i + 1];
  return undefined;
}

export function headerValues(headers: RawHeaders, lowerCase: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (isNamed(headers[i] as string, lowerCase)) values.push(headers[i + 1] as string);
  }
  return values;
}

/** A copy without the headers of these names (lower case). */
export function withoutHeaders(headers: RawHeaders, names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!names.has(name.toLowerCase())) kept.push(name, headers[i + 1] as string);
  }
  return kept;
}

/** What a header means to a gateway; everything else passes. */
export const kind = {
  hop: 1,
  connection: 2,
  host: 3,
  contentLength: 4,
  transferEncoding: 5,
  expect: 6,
  te: 7,
  upgrade: 8,
  forwarded: 9,
  userAgent: 10,
  contentType: 11,
} as const;

const kinds: ReadonlyMap<string, number> = new Map([
  ...[
    'keep-alive',
    'proxy-connection',
    'proxy-authorization',
    'proxy-authenticate',
    'proxy-authentication-info',
    'http2-settings',
  ].map((name) => [name, kind.hop] as const),
  ['connection', kind.connection],
  ['host', kind.host],
  ['content-length', kind.contentLength],
  ['transfer-encoding', kind.transferEncoding],
  ['expect', kind.expect],
  ['te', kind.te],
  ['upgrade', kind.upgrade],
  ...['forwarded', 'x-real-ip', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port'].map(
    (name) => [name, kind.forwarded] as const,
  ),
  ['user-agent', kind.userAgent],
  ['content-type', kind.contentType],
]);

/** Only names of these lengths need a look at their letters. */
const lengths: readonly boolean[] = Array.from({ length: 64 }, (_, length) =>
  [...kinds.keys()].some((name) => name.length === length),
);

/** 0 for a header that simply passes. */
export function kindOf(name: string): number {
  if (lengths[name.length] !== true) return isForwardedName(name) ? kind.forwarded : 0;
  return kinds.get(name) ?? kinds.get(name.toLowerCase()) ?? (isForwardedName(name) ? kind.forwarded : 0);
}

/** The whole family: a client may not claim what only a proxy in front of us can know. */
const isForwardedName = (name: string): boolean => {
  const first = name.charCodeAt(0);
  return (first === 120 || first === 88) && name.length > 12 && /^x-forwarded-/i.test(name);
};

/** Names in `Connection` never take away what frames or addresses the message. */
const unnameable: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'host', 'close', 'keep-alive']);

/** The headers that a `Connection` value names, in lower case; undefined when it names none. */
export function namedByConnection(value: string): ReadonlySet<string> | undefined {
  if (value === 'keep-alive' || value === 'close') return undefined;
  const names = value
    .split(',')
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== '' && !unnameable.has(token));
  return names.length > 0 ? new Set(names) : undefined;
}

export type UnderscoreRule = 'guard' | 'drop' | 'keep';

/** Names that every gateway sets, removes or trusts, beside those of the API. */
const guardedAlways = /^(?:x-forwarded-.*|forwarded|x-real-ip|authorization|cookie|x-svc-.*)$/;

/** Drops names with underscores that could pass for a name with dashes (promise 3 of conventions 12.2). */
export function withoutImpostors(
  headers: RawHeaders,
  rule: Exclude<UnderscoreRule, 'keep'>,
  guarded: ReadonlySet<string>,
): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (name.includes('_')) {
      const dashed = name.toLowerCase().replaceAll('_', '-');
      if (rule === 'drop' || guarded.has(dashed) || guardedAlways.test(dashed) || kindOf(dashed) !== 0) continue;
    }
    kept.push(name, headers[i + 1] as string);
  }
  return kept;
}

/** What an upstream's head says beyond the headers that are passed on. */
export type AnswerHead = { readonly headers: string[]; readonly contentLength: number };

/**
 * Reads the head of an upstream's answer; undefined when its framing is not beyond doubt: lengths that differ, a length
 * beside a transfer coding, or a coding other than `chunked`.
 */
export function readAnswerHead(raw: readonly (string | Buffer)[]): AnswerHead | undefined {
  const headers: string[] = [];
  let contentLength = -1;
  let isCoded = false;
  let connection = '';
  for (let i = 0; i < raw.length; i += 2) {
    const name = latin1(raw[i]);
    const value = latin1(raw[i + 1]);
    switch (kindOf(name)) {
      case kind.hop:
      case kind.upgrade:
      case kind.te:
        break;
      case kind.connection:
        connection = connection === '' ? value : `${connection},${value}`;
        break;
      case kind.transferEncoding:
        if (isCoded || contentLength >= 0 || value.trim().toLowerCase() !== 'chunked') return undefined;
        isCoded = true;
        break;
      case kind.contentLength:
        if (isCoded || contentLength >= 0 || !/^\d{1,15}$/.test(value)) return undefined;
        contentLength = Number(value);
        headers.push(name, value);
        break;
      default:
        headers.push(name, value);
    }
  }
  const named = connection === '' ? undefined : namedByConnection(connection.trim().toLowerCase());
  return { headers: named ? withoutHeaders(headers, named) : headers, contentLength };
}

const latin1 = (text: string | Buffer | undefined): string =>
  typeof text === 'string' ? text : (text?.toString('latin1') ?? '');
