/** Tokens that belong to a gateway: who may issue them, what shows that, and what no change of them can do. */
import { expect } from 'chai';
import { json } from '../support/management-refusals.ts';
import { bearer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { issue, statusWith } from '../support/management-tokens.ts';

describe('a token of a gateway', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement({ isInstalled: true });
  });
  after(() => management[Symbol.asyncDispose]());
  const give = (body: object, token: string) =>
    management.call('POST', '/api/tokens', JSON.stringify({ name: 'edge', roles: ['gateway'], ...body }), {
      ...json,
      ...bearer(token),
    });

  it('is shown with it, and stays with it', async () => {
    const { id, token, answer } = await issue(management, { roles: ['gateway'], node: 'edge-1' });
    expect(answer.json['node']).to.equal('edge-1');
    expect((await management.call('GET', `/api/tokens/${id}`)).json['node']).to.equal('edge-1');
    const audit = await management.call('GET', `/api/audit?aggregate=token-${id}`);
    expect(audit.text).to.contain('issued: role gateway, secrets of gateway edge-1, until');
    const renamed = await management.call('PUT', `/api/tokens/${id}`, '{"name":"edge"}', json);
    expect(renamed.json).to.include({ name: 'edge', node: 'edge-1' });
    const moved = await management.call('PUT', `/api/tokens/${id}`, '{"node":"edge-2"}', json);
    expect([moved.status, moved.json['detail']]).to.deep.equal([
      400,
      'request malformed: /node must NOT have additional properties',
    ]);
    expect(await statusWith(management, token)).to.equal(200);
  });

  it('is given by those who administrate tokens', async () => {
    const scopes = ['feed:read', 'gateways:report', 'tokens:write'];
    const { token } = await issue(management, { scopes });
    expect((await give({}, token)).status).to.equal(200);
    const refused = await give({ node: 'edge-1' }, token);
    expect([refused.status, refused.headers.get('x-svc-error-code')]).to.deep.equal([403, 'token_exceeds']);
    const { token: administrator } = await issue(management, { scopes: [...scopes, 'tokens:admin'] });
    expect((await give({ node: 'edge-1' }, administrator)).status).to.equal(200);
  });

  for (const node of ['', '-edge', 'edge 1', 'a'.repeat(64), 'e*e', '**', 7, null]) {
    it(`has the name of one: ${JSON.stringify(node)} is none`, async () =>
      expect((await give({ node }, management.token)).status).to.equal(400));
  }
  for (const node of ['e', 'edge.1_a', 'a'.repeat(63), '*', 'edge-*']) {
    it(`may be of ${node}`, async () => expect((await give({ node }, management.token)).status).to.equal(200));
  }
});
