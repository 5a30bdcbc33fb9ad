/** The normal form of a request path: what is matched, and what is forwarded (api-definition design 5.1). */

const slash = 47;
const dot = 46;

/** Undefined when the path has no normal form: a broken escape, `%00`, a fragment, or a climb above the root. */
export function normalPath(path: string): string | undefined {
  if (path.charCodeAt(0) !== slash) return undefined;
  if (isNormal(path)) return path;
  const decoded = normalEscapes(path);
  if (decoded === undefined) return undefined;
  const resolved = withoutDotSegments(decoded);
  return resolved?.replaceAll(/\/{2,}/g, '/');
}

/** The common case in one pass: no escape, no dot segment, no doubled slash, nothing that would have to be escaped. */
function isNormal(path: string): boolean {
  let previous = 0;
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (previous === slash && (code === slash || code === dot)) return false;
    if (code < 33 || code > 126 || code === 37 || code === 92 || code === 35) return false;
    previous = code;
  }
  return true;
}

const hexPair = /^[0-9a-fA-F]{2}$/;
const unreserved = /[A-Za-z0-9\-._~]/;

/** Step 1 and 4: escapes of unreserved characters are decoded, others in capitals; what may not stand plainly is escaped. */
function normalEscapes(path: string): string | undefined {
  let result = '';
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (code === 35 || code < 33 || code > 255) return undefined;
    if (code === 37) {
      const digits = path.slice(i + 1, i + 3);
      if (!hexPair.test(digits) || digits === '00') return undefined;
      const character = String.fromCharCode(Number.parseInt(digits, 16));
      result += unreserved.test(character) ? character : `%${digits.toUpperCase()}`;
      i += 2;
    } else result += code === 92 || code > 126 ? escaped(code) : (path[i] ?? '');
  }
  return result;
}

const escaped = (code: number): string => `%${code.toString(16).toUpperCase().padStart(2, '0')}`;

/** Step 2. A dot segment at the end leaves its slash. */
function withoutDotSegments(path: string): string | undefined {
  const segments: string[] = [];
  const parts = path.split('/').slice(1);
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (part === '.') {
      if (isLast) segments.push('');
    } else if (part === '..') {
      if (segments.length === 0) return undefined;
      segments.pop();
      if (isLast) segments.push('');
    } else segments.push(part);
  }
  return `/${segments.join('/')}`;
}

/** Stands for a slash inside a decoded segment; a lone surrogate, which no decoding yields. */
const innerSlash = '\ud800';

/** The text under which segments are compared: each decoded alone, so that `%2F` makes no new one. */
export function comparable(path: string): string {
  if (!path.includes('%')) return path;
  return path.split('/').map(decodedSegment).join('/');
}

function decodedSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment).replaceAll('/', innerSlash);
  } catch {
    return `${innerSlash}${segment}`;
  }
}
