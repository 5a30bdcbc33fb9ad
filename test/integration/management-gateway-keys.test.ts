/** Keys of gateways at management: who registers one, for which gateway, and that a changed one is not overlooked. */
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { decodeEvent } from '../../domain/events.ts';
import { nodeStream, toNodeId } from '../../domain/ids.ts';
import { nodeKeyIdOf, nodeKeyText } from '../../gateway/feed/node-box.ts';
import { svc } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { json } from '../support/management-refusals.ts';
import { type Answer, bearer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

const newKey = (): string => nodeKeyText(generateKeyPairSync('x25519').publicKey);

describe('the key of a gateway', () => {
  let management: TestManagement;
  let clockMs: number;
  let token: string;
  beforeEach(async () => {
    clockMs = Date.now();
    management = await startTestManagement({ isInstalled: true, now: () => new Date(clockMs) });
    ({ token } = await issue(management, { roles: ['gateway'], node: 'edge-1' }));
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const report = (parts: object, node = 'edge-1', as = token): Promise<Answer> =>
    management.call(
      'POST',
      `/api/gateways/${node}/reports`,
      { ...gatewayReport(), ...parts },
      { ...json, ...bearer(as) },
    );
  const taken = async (...given: Parameters<typeof report>): Promise<void> => {
    const answer = await report(...given);
    expect(answer.status, answer.text).to.equal(200);
  };
  const shown = (node = 'edge-1'): Promise<JsonObject> =>
    eventually(async () => {
      const { status, json: found } = await management.call('GET', `/api/gateways/${node}`);
      return status === 200 ? found : undefined;
    });
  const keyOf = async (): Promise<unknown> => (await shown())['key'];
  const registrations = async (): Promise<readonly unknown[]> => {
    const stored = await management.store.readStream(nodeStream(toNodeId('edge-1')), { limit: 100 });
    return stored
      .map((one) => decodeEvent(one).event)
      .flatMap((event) => (event.type === 'GatewayRegistered' ? [event.publicKey] : []));
  };
  const alarms = () =>
    management.log.lines.filter((line) => JSON.stringify(line).includes('key of a gateway has changed'));

  it('comes with its reports, and is registered once', async () => {
    const publicKey = newKey();
    await taken({ publicKey });
    await taken({ publicKey, position: '13' });
    await taken({ publicKey, version: '1.0.1' });
    await eventually(async () => expect(await shown()).to.include({ version: '1.0.1', health: 'pass' }));
    expect(await keyOf())
      .to.have.keys('id', 'since')
      .and.include({ id: nodeKeyIdOf(publicKey) });
    expect(await registrations()).to.deep.equal([publicKey, publicKey]);
    expect(alarms()).to.have.length(0);
  });

  it('that changes is an alarm for a day, and takes effect', async () => {
    const [first, second] = [newKey(), newKey()];
    await taken({ publicKey: first });
    clockMs += 3_600_000;
    await taken({ publicKey: second, run: 'run-2' });
    const key = { id: nodeKeyIdOf(second), before: nodeKeyIdOf(first) };
    await eventually(async () => expect(await keyOf()).to.include({ ...key, alarm: true }));
    expect(await shown()).to.include({ health: 'warn' });
    const listed = await svc(['nodes', '--url', management.url], { env: { SVC_TOKEN: management.token } });
    expect(listed.out, listed.err).to.match(/^edge-1\twarn\t.*its key has changed at 20/m);
    expect(alarms()).to.have.length(1);
    expect(JSON.stringify(alarms())).to.contain(key.id).and.contain(key.before).and.contain('edge-1');
    clockMs += 24 * 3_600_000;
    await taken({ publicKey: second, run: 'run-2' });
    expect(await shown()).to.include({ health: 'pass' });
    expect(await keyOf())
      .to.include(key)
      .and.not.to.have.property('alarm');
    expect(alarms()).to.have.length(1);
  });

  it('does not come back with an older process of its name', async () => {
    const [first, second] = [newKey(), newKey()];
    await taken({ publicKey: first });
    await taken({ publicKey: second, run: 'run-2' });
    const lost = await report({ publicKey: first });
    expect(lost.headers.get('x-svc-error-code')).to.equal('node_superseded');
    expect(await registrations()).to.deep.equal([first, second]);
  });

  it('is not lost when a report brings none, so that the next one is an alarm all the same', async () => {
    const [first, second] = [newKey(), newKey()];
    await taken({ publicKey: first });
    await taken({ version: '2.0.0' });
    await eventually(async () => expect(await keyOf()).to.include({ id: nodeKeyIdOf(first) }));
    expect(alarms()).to.have.length(0);
    await taken({ version: '2.0.0', publicKey: second });
    expect(alarms()).to.have.length(1);
  });

  it('keeps its gateway from those who only may report, until it is forgotten', async () => {
    await taken({ publicKey: newKey() });
    await shown();
    const thief = await report({ run: 'run-2' }, 'edge-1', management.token);
    expect([thief.status, thief.headers.get('x-svc-error-code')]).to.deep.equal([403, 'node_foreign']);
    await taken({ position: '13' });
    await management.call('DELETE', '/api/gateways/edge-1');
    await eventually(async () =>
      expect((await report({ run: 'run-2' }, 'edge-1', management.token)).status).to.equal(200),
    );
  });

  it('is not registered by a token that belongs to no gateway', async () => {
    await taken({ publicKey: newKey() }, 'edge-1', management.token);
    expect(await shown()).not.to.have.property('key');
    expect(await registrations()).to.deep.equal([undefined]);
  });

  it('is forgotten with its gateway', async () => {
    await taken({ publicKey: newKey() });
    await shown();
    expect((await management.call('DELETE', '/api/gateways/edge-1')).status).to.equal(200);
    const publicKey = newKey();
    await taken({ publicKey });
    await eventually(async () => expect(await keyOf()).to.include({ id: nodeKeyIdOf(publicKey) }));
    expect(await keyOf()).not.to.have.property('before');
    expect(alarms()).to.have.length(0);
  });

  it('belongs to the gateway of the token: nobody reports for another one', async () => {
    const other = await report({ publicKey: newKey() }, 'edge-2');
    expect([other.status, other.headers.get('x-svc-error-code')]).to.deep.equal([403, 'node_foreign']);
    const { token: fleet } = await issue(management, { roles: ['gateway'], node: 'edge-*' });
    await taken({ publicKey: newKey() }, 'edge-2', fleet);
    expect((await report({}, 'core-1', fleet)).status).to.equal(403);
  });

  for (const [what, publicKey] of [
    ['too short', 'AAAA'],
    ['of low order', Buffer.alloc(32).toString('base64url')],
    ['in another alphabet', `${'+'.repeat(42)}8`],
    ['no text', 7],
  ] as const) {
    it(`is refused when it is ${what}`, async () => {
      const answer = await report({ publicKey });
      expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([400, 'body_malformed']);
      expect(answer.text).to.contain('/publicKey');
    });
  }
});
