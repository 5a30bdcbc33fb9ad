/** A gateway with an outbox, APIs whose requests raise events, and a receiver of webhooks that keeps what it gets. */
import { join } from 'node:path';
import type { JsonObject } from '../../domain/event.ts';
import type { RetryPolicy } from '../../gateway/events/verdict.ts';
import { outboxOpener } from '../../src/compose/outbox.ts';
import { apiFor, startTestGateway, type TestGateway, type TestGatewayOptions } from './gateway-start.ts';
import { temporaryFolder } from './temporary.ts';
import { httpUpstream, type Upstream } from './upstream.ts';

/** As the design has them, a thousand times faster. */
export const quickRetries: RetryPolicy = { firstMs: 5, longestMs: 50, giveUpMs: 86_400_000, refusedAttempts: 3 };

export type Received = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
  readonly json: JsonObject;
};

export type Receiver = Upstream & {
  readonly received: Received[];
  readonly ids: () => readonly string[];
  /** Status and headers of the next answers; 204 at first. */
  answer: (received: Received) => readonly [status: number, headers?: Readonly<Record<string, string>>] | 'silence';
};

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const upstream = await httpUpstream((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body, json: jsonOf(body) };
      received.push(one);
      const answer = receiver.answer(one);
      if (answer !== 'silence') response.writeHead(...answer).end();
    });
  });
  const receiver: Receiver = {
    ...upstream,
    received,
    ids: () => received.map(({ headers }) => String(headers['x-svc-event-id'])),
    answer: () => [204],
  };
  return receiver;
}

/** Nothing of a body that is no JSON. */
function jsonOf(body: string): JsonObject {
  try {
    return JSON.parse(body) as JsonObject;
  } catch {
    return {};
  }
}

export type EventGateway = TestGateway & {
  /** Asks so often without a key where one is refused. */
  readonly refuse: (count?: number, api?: string) => Promise<void>;
};

/** With `directory` the gateway goes on with what an earlier one left there. */
export async function startEventGateway(
  options: TestGatewayOptions & { readonly timeoutMs?: number; readonly templatesPath?: string } = {},
): Promise<EventGateway> {
  const folder = options.directory === undefined ? temporaryFolder('svc-events-') : undefined;
  const directory = options.directory ?? folder?.path ?? '';
  const { timeoutMs = 2_000, templatesPath } = options;
  const place = {
    directory: join(directory, 'outbox'),
    node: 'node-1',
    allowLinkLocal: false,
    timeoutMs,
    ...(templatesPath === undefined ? {} : { templatesPath }),
  };
  const gateway = await startTestGateway({
    webhookRetries: quickRetries,
    openOutbox: outboxOpener({ ...place, log: { warn: () => {} } }),
    ...options,
    directory,
  });
  return {
    ...gateway,
    refuse: async (count = 1, api = 'guarded') => {
      const headers = { authorization: 'nobody-has-this' };
      for (let i = 0; i < count; i++) {
        const answer = await fetch(`${gateway.url}/${api}/some/path?part=1`, { headers });
        await answer.arrayBuffer();
      }
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      folder?.[Symbol.dispose]();
    },
  };
}

export const handler = (members: JsonObject): JsonObject => ({
  enabled: true,
  type: 'webhook',
  trigger: 'AuthFailure',
  ...members,
});

type Parts = NonNullable<Parameters<typeof apiFor>[2]>;

/** An API that wants a key unless its parts say something else, with these handlers. */
export const guardedApi = (id: string, handlers: readonly JsonObject[], parts: Parts = {}): JsonObject =>
  apiFor(id, 'http://127.0.0.1:9/', {
    ...parts,
    server: { authentication: { enabled: true }, eventHandlers: [...handlers], ...parts.server },
  });
