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

/** A set of header names that looks at letters only when a name has the length of one of its own. */
export class HeaderNames {
  readonly #names: ReadonlySet<string>;
  readonly #lengths: readonly boolean[];

  /** In any case. */
  constructor(names: Iterable<string>) {
    this.#names = new Set([...names].map((name) => name.toLowerCase()));
    const longest = Math.max(0, ...[...this.#names].map(({ length }) => length));
    this.#lengths = Array.from({ length: longest + 1 }, (_, length) =>
      [...this.#names].some((name) => name.length === length),
    );
  }

  has(name: string): boolean {
    return (
      name.length < this.#lengths.length &&
      this.#lengths[name.length] === true &&
      (this.#names.has(name) || this.#names.has(name.toLowerCase()))
    );
  }
}

/** A copy without the headers of these names. */
export function withoutHeaders(headers: RawHeaders, names: HeaderNames): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!names.has(name)) kept.push(name, headers[i + 1] as string);
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

const known: readonly (readonly [name: string, meaning: number])[] = [
  ['keep-alive', kind.hop],
  ['proxy-connection', kind.hop],
  ['proxy-authorization', kind.hop],
  ['proxy-authenticate', kind.hop],
  ['proxy-authentication-info', kind.hop],
  ['http2-settings', kind.hop],
  ['connection', kind.connection],
  ['host', kind.host],
  ['content-length', kind.contentLength],
  ['transfer-encoding', kind.transferEncoding],
  ['expect', kind.expect],
  ['te', kind.te],
  ['upgrade', kind.upgrade],
  ['forwarded', kind.forwarded],
  ['x-real-ip', kind.forwarded],
  ['user-agent', kind.userAgent],
  ['content-type', kind.contentType],
];

type Known = { readonly name: string; readonly first: number; readonly meaning: number };

const longestKnown = 25;

/** By length: hashing every name of every request would cost more than a look at its first letter. */
const byLength: readonly (readonly Known[])[] = Array.from({ length: longestKnown + 1 }, (_, length) =>
  known
    .filter(([name]) => name.length === length)
    .map(([name, meaning]) => ({ name, first: name.charCodeAt(0), meaning })),
);

const letterX = 120;

/** 0 for a header that simply passes. */
export function kindOf(name: string): number {
  const { length } = name;
  const first = name.charCodeAt(0) | 0x20;
  if (length <= longestKnown) {
    for (const entry of byLength[length] as readonly Known[]) {
      if (entry.first === first && (name === entry.name || name.toLowerCase() === entry.name)) return entry.meaning;
    }
  }
  // The whole family: a client may not claim what only a proxy in front of us can know.
  return first === letterX && length > 12 && /^x-forwarded-/i.test(name) ? kind.forwarded : 0;
}

/** Names in `Connection` never take away what frames or addresses the message. */
const unnameable: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'host', 'close', 'keep-alive']);

/** The headers that a `Connection` value names, in lower case; undefined when it names none. */
export function namedByConnection(value: string): HeaderNames | undefined {
  if (value === 'keep-alive' || value === 'close') return undefined;
  const names = value
    .split(',')
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== '' && !unnameable.has(token));
  return names.length > 0 ? new HeaderNames(names) : undefined;
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

/** What an upstream's head says beyond the headers that are passed on. `isDelimited`: it says where its body ends. */
export type AnswerHead = {
  readonly headers: string[];
  readonly contentLength: number;
  readonly isDelimited: boolean;
};

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
  const isDelimited = isCoded || contentLength >= 0;
  return { headers: named ? withoutHeaders(headers, named) : headers, contentLength, isDelimited };
}

/** The platform's own reader of bytes; `toString` finds it by the name of the encoding, for every header anew. */
type Latin1Bytes = { latin1Slice(): string };

const latin1 = (text: string | Buffer | undefined): string =>
  typeof text === 'string' ? text : text === undefined ? '' : (text as unknown as Latin1Bytes).latin1Slice();
