/** Sends one event to a webhook and tells what came of it: signed, TLS verified, no redirects, no link-local address (api-definition design 14.4). */
import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent, request } from 'undici';
import type { JsonObject } from '../../domain/event.ts';
import { isObject, textAt } from '../../domain/json.ts';
import { percentDecoded } from '../http/percent.ts';
import { BodyTemplates } from './body-templates.ts';
import { contentOf } from './webhook-content.ts';

type WebhookEvent = {
  /** The same on every attempt. */
  readonly id: string;
  /** From 1. */
  readonly attempt: number;
  /** What is sent without a template. */
  readonly body: JsonObject;
  /** What a template is rendered with; without it: the body is. */
  readonly envelope?: () => JsonObject;
};

/** `status` of the answer; without one `error` says why. */
export type Sent = {
  readonly status: number | null;
  readonly timeMs: number;
  readonly error: string | null;
  /** What the answer asks to wait for. */
  readonly retryAfterMs?: number;
  /** Why the default body was sent although there is a template. */
  readonly warning?: string;
};

/** `webhook`: its document with secrets in clear. Aborted by the signal it ends as without an answer. */
export type SendWebhook = (webhook: JsonObject, event: WebhookEvent, signal?: AbortSignal) => Promise<Sent>;

export type SenderOptions = {
  readonly now: () => Date;
  /** Of one attempt. Default 30 s. */
  readonly timeoutMs?: number;
  /** PEM of further authorities, for tests. */
  readonly ca?: string;
  /** `gateway.webhook_allow_link_local`. */
  readonly allowLinkLocal?: boolean;
  /** Connections that stay open between events; without it each attempt has its own. */
  readonly agent?: Agent;
  /** Where templates come from; without it those that are no files are rendered. */
  readonly templates?: BodyTemplates;
};

export function createSendWebhook(options: SenderOptions): SendWebhook {
  const { now, timeoutMs = 30_000, allowLinkLocal = false, templates = new BodyTemplates() } = options;
  return async (webhook, event, stop) => {
    const startMs = performance.now();
    const timeMs = (): number => Math.round(performance.now() - startMs);
    const agent = options.agent ?? webhookAgent(options);
    const { signal, clear } = endingAfter(timeoutMs, stop);
    let warned = {};
    try {
      const url = new URL(textAt(webhook, 'url') ?? '');
      if (!allowLinkLocal && isLinkLocal(url.hostname.replace(/^\[|\]$/g, ''))) throw new Error(refused);
      const { text: body, ...further } = contentOf(webhook, { envelope: () => event.body, ...event }, templates);
      warned = further;
      const headers = headersFor(webhook, url, event, body, Math.floor(now().getTime() / 1_000));
      const method = (textAt(webhook, 'method') ?? 'POST') as 'POST';
      const hasBody = textAt(webhook, 'method') !== 'GET';
      const answer = await request(url.origin + url.pathname + url.search, {
        ...{ dispatcher: agent, method, headers, signal },
        ...(hasBody ? { body } : {}),
      });
      // Nothing of it is kept, and it says nothing: whether it comes to an end or not, the status has been heard.
      await answer.body.dump({ limit: 65_536, signal }).catch(ignore);
      const retryAfterMs = retryAfter(answer.headers['retry-after'], now().getTime());
      const told = retryAfterMs === undefined ? {} : { retryAfterMs };
      return { status: answer.statusCode, timeMs: timeMs(), error: null, ...told, ...warned };
    } catch (error) {
      return { status: null, timeMs: timeMs(), error: reasonOf(error), ...warned };
    } finally {
      clear();
      if (!options.agent) await agent.destroy();
    }
  };
}

/** A signal that leaves nothing behind when the attempt is over: there may be thousands in a minute. */
function endingAfter(timeoutMs: number, stop: AbortSignal | undefined) {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(new DOMException('no answer in time', 'TimeoutError')), timeoutMs);
  const end = (): void => ending.abort(stop?.reason);
  if (stop?.aborted) end();
  else stop?.addEventListener('abort', end, { once: true });
  const clear = (): void => {
    clearTimeout(timer);
    stop?.removeEventListener('abort', end);
  };
  return { signal: ending.signal, clear };
}

/** Keeps connections open; who makes it closes it. */
export const webhookAgent = ({ ca, allowLinkLocal = false }: Pick<SenderOptions, 'ca' | 'allowLinkLocal'>): Agent =>
  new Agent({
    connect: {
      ...(allowLinkLocal ? {} : { lookup: guardedLookup }),
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca }),
    },
  });

const refused = 'link-local addresses are refused';

/** Seconds, or a date (RFC 9110 10.2.3). */
function retryAfter(value: string | readonly string[] | undefined, nowMs: number): number | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const at = text === '' ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
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
  const basic = `${percentDecoded(username)}:${percentDecoded(password)}`;
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
  // The same behind a translator (RFC 6052).
  list.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
  // Where a cloud answers with credentials over IPv6, although the address is not link-local.
  list.addAddress('fd00:ec2::254', 'ipv6');
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
    if (!first) return callback(new Error(refused), '');
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

const ignore = (): void => {};
