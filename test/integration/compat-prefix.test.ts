/** A server with `compat_prefix`: what was written for another product of the family is taken as it is, and answered with our names. */
import { assert, expect } from 'chai';
import { apiDocument } from '../support/documents.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

const theirs = (document: unknown): string => JSON.stringify(document).replaceAll('svc', 'acme');

describe('compat_prefix', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement({ settings: { compatPrefix: 'acme' } });
  });
  after(() => management[Symbol.asyncDispose]());

  const send = (method: string, path: string, headers: Record<string, string>, body?: string) =>
    management.call(method, path, body, headers);
  const streams = 'application/vnd.acme.streams.oas';

  it('takes definitions, media types and headers of the other prefix', async () => {
    const document = apiDocument({ info: { id: 'told', name: 'Told' } });
    const made = await send(
      'POST',
      '/api/apis/streams',
      { 'content-type': `${streams}; charset=utf-8`, 'X-Acme-Comment': 'from elsewhere' },
      theirs(document),
    );
    expect(made.status, made.text).to.equal(200);
    const read = await send('GET', '/api/apis/streams/told', { accept: streams });
    expect(read.status).to.equal(200);
    expect(read.headers.get('content-type')).to.contain('application/vnd.svc.streams.oas');
    expect(read.text).to.contain('x-svc-api-gateway').and.not.contain('acme');
    const history = await send('GET', '/api/apis/told/revisions', {});
    expect(history.text).to.contain('from elsewhere');
  });

  it('leaves alone in which header a trusted proxy names the person', async () => {
    const settings = { compatPrefix: 'acme', trustedProxies: ['127.0.0.1'] };
    const person = async (trustedActorHeader: string, header: string): Promise<unknown> => {
      await using server = await startTestManagement({ settings: { ...settings, trustedActorHeader } });
      const headers = { 'content-type': 'application/json', [header]: 'jo@example.org' };
      const made = await server.call('POST', '/api/policies', '{"name":"gold"}', headers);
      expect(made.status, made.text).to.equal(200);
      const { json } = await server.call('GET', '/api/audit?limit=1');
      return (json['events'] as { actor: { detail?: string } }[])[0]?.actor.detail;
    };
    expect(await person('x-acme-user', 'X-Acme-User')).to.equal('jo@example.org');
    expect(await person('x-svc-user', 'X-Svc-User')).to.equal('jo@example.org');
    expect(await person('x-svc-user', 'X-Acme-User'), 'a header that the proxy does not know of').to.equal(undefined);
  });

  it('takes patches of every kind', async () => {
    const patch = JSON.stringify({ 'x-acme-api-gateway': { info: { name: 'Merged' } } });
    const merged = await send(
      'PATCH',
      '/api/apis/streams/told',
      { 'content-type': 'application/merge-patch+json' },
      patch,
    );
    expect(merged.status, merged.text).to.equal(200);
    const steps = JSON.stringify([{ op: 'replace', path: '/x-acme-api-gateway/info/name', value: 'Stepped' }]);
    const stepped = await send(
      'PATCH',
      '/api/apis/streams/told',
      { 'content-type': 'application/json-patch+json' },
      steps,
    );
    expect(stepped.status, stepped.text).to.equal(200);
    const { text } = await send('GET', '/api/apis/told', {});
    assert(text.includes('Stepped') && !text.includes('Merged'));
  });

  it('judges and applies them', async () => {
    const document = apiDocument({
      info: { id: 'set', name: 'Set' },
      server: { listenPath: { value: '/set/', strip: true } },
    });
    const judged = await send('POST', '/api/validate', { 'content-type': 'application/json' }, theirs(document));
    expect(JSON.parse(judged.text)).to.deep.include({ errors: [] });
    const set = { objects: [{ kind: 'api', id: 'set', apiKind: 'oas', document: JSON.parse(theirs(document)) }] };
    const applied = await send(
      'POST',
      '/api/config/apply',
      { 'content-type': 'application/json' },
      JSON.stringify(set),
    );
    expect(applied.status, applied.text).to.equal(200);
    expect((await send('GET', '/api/apis/oas/set', {})).text)
      .to.contain('x-svc-api-gateway')
      .and.not.contain('acme');
  });

  it('goes on taking ours, which count where both are there', async () => {
    const answer = await send('GET', '/api/organisations', { 'x-acme-org': 'f'.repeat(24), 'x-svc-org': '' });
    expect(answer.status, answer.text).to.equal(200);
    const own = await send(
      'PUT',
      '/api/apis/streams/told',
      { 'content-type': 'application/vnd.svc.streams.oas' },
      JSON.stringify(apiDocument({ info: { id: 'told', name: 'Ours' } })),
    );
    expect(own.status, own.text).to.equal(200);
  });
});
