/** `GET /api/apis/{apiId}/chain`: the effective chain now and as it was. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument } from '../support/documents.ts';
import { known, listenAt, startWithTwoApis, vendor } from '../support/management-refusals.ts';

const chain = '/api/apis/known/chain';

describe('the chain of an API over HTTP', () => {
  it('follows the document, and shows what it was', async () => {
    await using management = await startWithTwoApis();
    const { call } = management;
    const namesAt = async (query = '') =>
      ((await call('GET', `${chain}${query}`)).json['chain'] as readonly JsonObject[])
        .filter(({ runs }) => runs === true)
        .map(({ name }) => name);
    const before = await call('GET', chain);
    expect(before.json).to.include({ id: 'known', active: true, internal: false });
    expect(await namesAt()).to.deep.equal(['organisation-limits', 'upstream']);
    const global = { requestSizeLimit: { enabled: true, value: 5 } };
    const changed = await call(
      'PUT',
      known,
      apiDocument({ info: { id: 'known' }, ...listenAt('/known/'), global }),
      vendor,
    );
    expect(changed.status, changed.text).to.equal(200);
    expect(await namesAt(`?minRevision=${changed.headers.get('x-svc-revision')}`)).to.deep.equal([
      'organisation-limits',
      'request-size',
      'upstream',
    ]);
    expect(await namesAt(`?at=${before.headers.get('x-svc-revision')}`)).to.deep.equal([
      'organisation-limits',
      'upstream',
    ]);
    expect((await call('GET', chain)).headers.get('etag')).to.equal(changed.headers.get('etag'));
  });

  it('is not there for an API that is not', async () => {
    await using management = await startWithTwoApis();
    const answer = await management.call('GET', '/api/apis/nothing/chain');
    expect([answer.status, answer.json['Message']]).to.deep.equal([404, 'API not found.']);
  });
});
