/** Reads while the log is away: they go on from the read models, and say how old they may be. */
import { expect } from 'chai';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { startTestManagement } from '../support/management-server.ts';

describe('reads while the log does not answer', () => {
  it('say for how long it has been away, and nothing once it is back', async () => {
    await using management = await startTestManagement();
    const { store, call } = management;
    const create = (id: string) =>
      call(
        'POST',
        '/api/apis/streams',
        apiDocument({ info: { id, name: id }, server: { listenPath: { value: `/${id}/`, strip: true } } }),
      );
    const stale = async () => (await call('GET', '/api/apis')).headers.get('x-svc-stale');
    expect((await create('before')).status).to.equal(200);
    expect(await stale()).to.equal(null);
    const readAll = store.readAll.bind(store);
    store.readAll = () => Promise.reject(new Error('the network is away'));
    await create('meanwhile');
    await eventually(async () => Number(await stale()) >= 1);
    const list = await call('GET', '/api/apis');
    expect(list.status).to.equal(200);
    expect(list.text).to.contain('before').and.not.contain('meanwhile');
    expect((await call('GET', '/livez')).headers.has('x-svc-stale')).to.equal(false);
    store.readAll = readAll;
    await eventually(async () => (await stale()) === null);
    expect((await call('GET', '/api/apis')).text).to.contain('meanwhile');
  });
});
