/** Events at the gateway: raised by refusals, matched to handlers, delivered to receivers on sockets. */
import { expect } from 'chai';
import { signatureOf } from '../../gateway/events/webhook-sender.ts';
import { guardedApi, handler, type Receiver, startEventGateway, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';

describe('events at the gateway', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver[Symbol.asyncDispose]());

  it('are sent as the design has it: body, headers, signature', async () => {
    await using gateway = await startEventGateway();
    const headers = [{ name: 'X-Team', value: 'payments' }];
    const inline = handler({ name: 'alarm', url: `${receiver.url}in?a=1`, headers, secret: 'Own-61' });
    await gateway.put('guarded', guardedApi('guarded', [inline]));
    await gateway.refuse();
    const one = await eventually(() => receiver.received[0]);
    expect(one).to.include({ method: 'POST', url: '/in?a=1' });
    const { key, ...rest } = one.json;
    expect(rest).to.deep.equal({
      ...{ event: 'AuthFailure', message: 'Auth Failure', path: '/guarded/some/path', origin: '127.0.0.1' },
    });
    expect(key).to.match(/^[0-9a-f]{64}$/);
    expect(one.headers).to.include({
      ...{
        'content-type': 'application/json',
        'user-agent': 'Svc-Hookshot',
        'x-team': 'payments',
        'x-svc-attempt': '1',
      },
    });
    expect(one.headers['x-svc-event-id']).to.match(/^[0-9a-f-]{36}$/);
    const signature = String(one.headers['x-svc-signature']);
    const time = Number(/^t=(\d+),/.exec(signature)?.[1]);
    expect(signature).to.equal(signatureOf('Own-61', time, one.body));
  });
});
