/** Request headers with the names of another prefix (`compat_prefix`), read as ours. */
import type { IncomingHttpHeaders } from 'node:http';

/** What names media types of ours. */
const typed = ['content-type', 'accept'];

/** Changes the headers in place, before anybody has read them. One that is there under our name as well keeps that value. */
export function renameHeaders(headers: IncomingHttpHeaders, prefix: string): void {
  for (const name of Object.keys(headers)) {
    if (!name.startsWith(`x-${prefix}-`)) continue;
    headers[`x-svc-${name.slice(prefix.length + 3)}`] ??= headers[name];
    delete headers[name];
  }
  for (const name of typed) {
    const value = headers[name];
    if (typeof value === 'string')
      headers[name] = value.replaceAll(`application/vnd.${prefix}.`, 'application/vnd.svc.');
  }
}
