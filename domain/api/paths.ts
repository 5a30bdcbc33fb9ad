/** Normal form of hosts and listen paths, and the claim under which two of them are the same (api-definition design 4.1, 4.2). */

/** Lower case, without port and trailing dot; other letters as clients write them in a host (IDNA). */
export function normalHost(host: string): string {
  const plain = host.trim().toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  return isAscii(plain) ? plain : (URL.parse(`http://${plain}/`)?.hostname ?? plain);
}

export const isAscii = (text: string): boolean => /^[ -~]*$/.test(text);

/** Leading slash, no doubled slashes, no dot segments, no trailing slash but for `/` alone. */
export function normalListenPath(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') segments.pop();
    else segments.push(segment);
  }
  return `/${segments.join('/')}`;
}

/** What no two APIs may share; APIs that are inactive or internal hold it all the same. */
export const routeClaim = (domain: string | undefined, listenPath: string): string => `${domain ?? ''}\n${listenPath}`;
