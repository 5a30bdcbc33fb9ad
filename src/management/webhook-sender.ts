/** Sends one event to a webhook and tells what came of it: signed, TLS verified, no redirects, no link-local address (api-definition design 14.4). */
import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent, request } from 'undici';
import type { JsonObject } from '../../domain/event.ts';
import { isObject, textAt } from '../../domain/json.ts';

type WebhookEvent = {
  /** The same on every attempt. */
  readonly id: string;
  /** From 1. */
  readonly attempt: number;
  readonly body: JsonObject;
};

/** `status` of the answer; without one `error` says why. */
type Sent = { readonly status: number | null; readonly timeMs: number; readonly error: string | null };

/** `webhook`: its document with secrets in clear. */
export type SendWebhook = (webhook: JsonObject, event: WebhookEvent) => Promise<Sent>;

export type SenderOptions = {
  readonly now: () => Date;
  /** Of one attempt. Default 30 s. */
  readonly timeoutMs?: number;
  /** PEM of further authorities, for tests. */
  readonly ca?: string;
};

export function createSendWebhook({ now, timeoutMs = 30_000, ca }: SenderOptions): SendWebhook {
  return async (webhook, event) => {
    const startMs = performance.now();
    const timeMs = (): number => Math.round(performance.now() - startMs);
    const connect = { lookup: guardedLookup, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) };
    const agent = new Agent({ connect });
    try {
      const url = new URL(textAt(webhook, 'url') ?? '');
      if (isLinkLocal(url.hostname.replace(/^\[|\]$/g, ''))) throw new Error('link-local addresses are refused');
      const body = JSON.stringify(event.body);
      const signal = AbortSignal.timeout(timeoutMs);
      const headers = headersFor(webhook, url, event, body, Math.floor(now().getTime() / 1_000));
      const method = (textAt(webhook, 'method') ?? 'POST') as 'POST';
      const hasBody = textAt(webhook, 'method') !== 'GET';
      const answer = await request(url.origin + url.pathname + url.search, {
        ...{ dispatcher: agent, method, headers, signal },
        ...(hasBody ? { body } : {}),
      });
      // Nothing of it is kept.
      await answer.body.dump({ limit: 65_536, signal });
      return { status: answer.statusCode, timeMs: timeMs(), error: null };
    } catch (error) {
      return { status: null, timeMs: timeMs(), error: reasonOf(error) };
    } finally {
      await agent.destroy();
    }
  };
}

/** `t=<unix seconds>,v1=<hex HMAC-SHA-256 of "<t>.<body>">`. */
export const signatureOf = (secret: string, timeS: number, body: string): string =>
  `t=${timeS},v1=${createHmac('sha256', secret).update(`${timeS}.${body}`).digest('hex')}`;

function headersFor(
  webhook: JsonObject,
  { username, password }: URL,
  { id, attempt }: WebhookEvent,
  body: string,
  timeS: number,
): Record<string, string> {
  const secret = textAt(webhook, 'secret') ?? '';
  const basic = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const own = (Array.isArray(webhook['headers']) ? webhook['headers'] : []).flatMap((header) =>
    isObject(header) ? [[(textAt(header, 'name') ?? '').toLowerCase(), textAt(header, 'value') ?? ''] as const] : [],
  );
  return {
    'content-type': 'application/json',
    'user-agent': 'Svc-Hookshot',
    ...(basic === ':' ? {} : { authorization: `Basic ${Buffer.from(basic).toString('base64')}` }),
    ...Object.fromEntries(own),
    'x-svc-event-id': id,
    'x-svc-attempt': String(attempt),
    ...(secret === '' ? {} : { 'x-svc-signature': signatureOf(secret, timeS, body) }),
  };
}

const linkLocal = (): BlockList => {
  const list = new BlockList();
  list.addSubnet('169.254.0.0', 16, 'ipv4');
  list.addSubnet('fe80::', 10, 'ipv6');
  return list;
};

/** Addresses of IPv4 inside of IPv6 count as what they are. */
function isLinkLocal(address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  const family = isIP(plain);
  return family !== 0 && linkLocal().check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

/** The address that is connected to is the one that was looked at. */
const guardedLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '');
    const allowed = addresses.filter(({ address }) => !isLinkLocal(address));
    const [first] = allowed;
    if (!first) return callback(new Error('link-local addresses are refused'), '');
    if (options.all) return callback(null, allowed);
    return callback(null, first.address, first.family);
  });
};

/** Codes and texts of the network; nothing of what was sent. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  if (error.name === 'TimeoutError') return 'no answer in time';
  const code = (error as { readonly code?: unknown }).code;
  return typeof code === 'string' && error.message === '' ? code : error.message;
}
