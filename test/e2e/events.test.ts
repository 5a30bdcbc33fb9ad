/** Events in the running product: handlers of a definition and of the node, a kill while a receiver is away, and no secret where it does not belong. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { signatureOf } from '../../gateway/events/webhook-sender.ts';
import { handler, type Receiver, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';

const json = { 'content-type': 'application/json' };

describe('events of the running product', function () {
  this.timeout(90_000);
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver[Symbol.asyncDispose]());

  it('reach handlers of a definition and of the node, also over a kill while nobody takes them', async () => {
    using folder = temporaryFolder('svc-e2e-events-');
    const handlers = [
      {
        enabled: true,
        type: 'webhook',
        trigger: 'AuthFailure',
        name: 'node',
        url: `${receiver.url}node`,
        secret: '$env:HOOK',
      },
      { enabled: true, type: 'log', trigger: 'AuthFailure', logPrefix: 'seen' },
    ];
    const env = { SVC_GW_EVENTHANDLERS: JSON.stringify(handlers), HOOK: 'Own-62' };
    receiver.answer = () => [503];
    let svc = await startSvc({ data: folder.path, env });
    const inline = handler({ name: 'api', url: `${receiver.url}api`, secret: 'Own-61' });
    const made = await svc.call('/api/apis/oas', {
      method: 'POST',
      headers: json,
      body: JSON.stringify({
        ...{ openapi: '3.0.3', info: { title: 'Guarded', version: '1' }, paths: {} },
        'x-svc-api-gateway': {
          info: { id: 'guarded', name: 'Guarded', state: { active: true, internal: false } },
          server: {
            ...{ listenPath: { value: '/guarded/', strip: true }, authentication: { enabled: true } },
            eventHandlers: [inline],
          },
          upstream: { url: receiver.url },
        },
      }),
    });
    expect(made.status, await made.text()).to.equal(200);
    const ask = async () => (await fetch(`${svc.gateway}/guarded/x`, { headers: { authorization: 'nobody' } })).status;
    await eventually(async () => (await ask()) === 403);
    await eventually(() => new Set(receiver.received.map(({ url }) => url)).size === 2, 20_000);
    await eventually(() => svc.stderr.some((line) => line.includes('seen:')));
    const tried = new Set(receiver.ids());
    await svc.kill();
    receiver.received.length = 0;
    receiver.answer = () => [204];
    svc = await startSvc({ data: folder.path, env });
    await eventually(
      () => [...tried].every((id) => receiver.ids().filter((other) => other === id).length >= 2),
      30_000,
    );
    for (const { url, body, headers } of receiver.received) {
      const signature = String(headers['x-svc-signature']);
      const secret = url === '/node' ? 'Own-62' : 'Own-61';
      expect(signature).to.equal(signatureOf(secret, Number(/^t=(\d+),/.exec(signature)?.[1]), body));
    }
    expect(await svc.stop()).to.equal(0);
    const files = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    for (const file of files) {
      const text = readFileSync(join(file.parentPath, file.name), 'latin1');
      expect(text.includes('Own-61') || text.includes('Own-62'), join(file.parentPath, file.name)).to.equal(false);
    }
    expect(svc.stderr.join('\n')).not.to.match(/Own-6|nobody/);
  });
});
