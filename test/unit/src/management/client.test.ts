/** The client against a real server. */
import { assert, expect } from 'chai';
import { ClientError, createClient, UnreachableError } from '../../../../src/management/client.ts';
import { named } from '../../../support/management-refusals.ts';
import { startTestManagement, streamsType, type TestManagement } from '../../../support/management-server.ts';
import { freePort } from '../../../support/temporary.ts';

describe('the client', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const client = () => createClient({ url: management.url, token: management.token });
  const errorOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => assert.fail('was answered'),
      (error: unknown) => error,
    );

  it('sends and gets JSON, text of any type, and a query', async () => {
    const headers = { 'content-type': streamsType };
    const created = await client().send('POST', '/api/apis/streams', { body: named('sent'), headers });
    expect([created.status, created.headers.get('etag')]).to.deep.equal([200, '"1"']);
    const text = await client().send('PATCH', '/api/apis/streams/sent', {
      body: JSON.stringify(named('sent')),
      headers,
      query: { dryRun: true, listenPath: undefined },
    });
    expect(text.headers.get('x-svc-dry-run')).to.equal('true');
    const { body } = await client().get('/api/apis', { q: 'sent', limit: 1 });
    expect(body).to.have.property('apis').with.length(1);
    expect((await client().get('/api/apis/streams/sent')).body).to.have.nested.property('info.title', 'Orders');
  });

  it('throws errors with status, code, text and problems', async () => {
    const error = await errorOf(
      client().send('POST', '/api/apis/streams', {
        body: { openapi: '3.0.0' },
        headers: { 'content-type': streamsType },
      }),
    );
    assert(error instanceof ClientError);
    expect(error).to.include({ status: 400, code: 'definition_invalid' });
    expect(error.problems.map(({ pointer }) => pointer)).to.deep.equal(['/info', '/paths']);
    const unknown = await errorOf(createClient({ url: management.url, token: 'wrong' }).get('/api/apis'));
    expect(unknown).to.include({ status: 401, code: 'unauthorised', message: 'Not authorised' });
  });

  it('says that nobody answers', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const error = await errorOf(createClient({ url, token: 'any' }).get('/livez'));
    assert(error instanceof UnreachableError);
    expect(error.message).to.equal(`The management API at ${url} does not answer`);
  });
});
