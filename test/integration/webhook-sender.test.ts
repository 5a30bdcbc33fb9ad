/** The sender of webhooks by itself: what it reads of an answer, what ends an attempt, what it shares between attempts. */
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createSendWebhook, webhookAgent } from '../../gateway/events/webhook-sender.ts';
import { type Receiver, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { httpUpstream } from '../support/upstream.ts';

const nowMs = Date.UTC(2026, 0, 1);
const now = (): Date => new Date(nowMs);
const event = { id: 'e', attempt: 1, body: { a: 1 } };

describe('the sender of webhooks', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver[Symbol.asyncDispose]());

  const asked: readonly (readonly [header: string, ms: number | undefined])[] = [
    ['120', 120_000],
    ['0', 0],
    [new Date(nowMs + 90_000).toUTCString(), 90_000],
    [new Date(nowMs - 90_000).toUTCString(), 0],
    ['soon', undefined],
    ['', undefined],
    ['-5', 0],
    ['99999999999999999999', undefined],
  ];
  for (const [header, ms] of asked) {
    it(`reads Retry-After "${header}" as ${ms ?? 'nothing'}`, async () => {
      receiver.answer = () => [503, { 'retry-after': header }];
      const { status, retryAfterMs } = await createSendWebhook({ now })({ url: receiver.url }, event);
      expect([status, retryAfterMs]).to.deep.equal([503, ms]);
    });
  }

  it('keeps connections for the next events', async () => {
    const agent = webhookAgent({});
    const send = createSendWebhook({ now, agent });
    for (let i = 0; i < 5; i++) expect(await send({ url: receiver.url }, event)).to.include({ status: 204 });
    // The end of an answer and the return of its connection are two turns.
    expect(receiver.connections().accepted).to.be.below(5);
    await agent.destroy();
  });

  it('takes a lone percent sign in user info as one', async () => {
    const url = receiver.url.replace('//', '//a%zz:b%@');
    expect(await createSendWebhook({ now })({ url }, event)).to.include({ status: 204 });
    const { authorization } = receiver.received.at(-1)!.headers;
    expect(Buffer.from(String(authorization).slice(6), 'base64').toString()).to.equal('a%zz:b%');
  });

  it('ends an attempt when it is told to, also before it has begun', async () => {
    receiver.answer = () => 'silence';
    const stop = new AbortController();
    const send = createSendWebhook({ now });
    const sent = send({ url: receiver.url }, event, stop.signal);
    await eventually(() => receiver.received[0]);
    stop.abort();
    expect(await sent).to.include({ status: null });
    expect(await send({ url: receiver.url }, event, stop.signal)).to.include({ status: null });
    expect(receiver.received).to.have.length(1);
  });

  const endings: readonly (readonly [what: string, end: (answer: ServerResponse) => void])[] = [
    ['never ends', () => {}],
    ['breaks off', (answer) => void answer.socket?.resetAndDestroy()],
  ];
  for (const [what, end] of endings) {
    it(`takes the status for the answer although the body ${what}: what has arrived is not sent again`, async () => {
      await using upstream = await httpUpstream((_, answer) => {
        answer.writeHead(200, { 'content-length': '10' });
        answer.write('0', () => end(answer));
      });
      const send = createSendWebhook({ now, timeoutMs: 200 });
      expect(await send({ url: upstream.url }, event)).to.include({ status: 200, error: null });
    });
  }

  it('goes to link-local addresses only where that is allowed', async () => {
    const link = { url: 'http://169.254.1.2:9/' };
    const refused = { status: null, error: 'link-local addresses are refused' };
    expect(await createSendWebhook({ now, timeoutMs: 20 })(link, event)).to.include(refused);
    const allowed = await createSendWebhook({ now, timeoutMs: 20, allowLinkLocal: true })(link, event);
    expect(allowed.error).not.to.equal(refused.error);
  });

  it('says what is wrong with an address that is none, and nothing of what it was to send', async () => {
    const sent = await createSendWebhook({ now })({ url: 'nowhere', secret: 'Own-61' }, event);
    expect(sent).to.include({ status: null });
    expect(sent.error).to.be.a('string').that.does.not.include('Own-61');
  });
});
