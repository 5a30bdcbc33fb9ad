/** Projections over HTTP and on the command line: status, rebuild, retry, skip, and what is refused. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { tokenSha256 } from '../../src/management/authenticate.ts';
import { type Outcome, svc } from '../support/cli.ts';
import { countingProjection } from '../support/counting-projection.ts';
import { eventually } from '../support/eventually.ts';
import { apiActivated, apiCreated, appendEvents } from '../support/given.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';

const reader = 'svct_reader_of_projections';

describe('projections, as an operator sees them', () => {
  let management: TestManagement;
  let isBroken = true;
  const fragile = countingProjection({
    name: 'fragile',
    apply: (recorded, documents) => {
      if (isBroken && recorded.stream === 'api-bad') throw new Error('cannot take it');
      return countingProjection().apply(recorded, documents);
    },
  });
  const status = async (): Promise<JsonObject> => {
    const { json } = await management.call('GET', '/api/projections');
    return (json['projections'] as readonly JsonObject[]).find(({ name }) => name === 'fragile') ?? {};
  };

  before(async () => {
    management = await startTestManagement({
      projections: [fragile],
      credentials: [
        {
          actor: { type: 'token', id: 'reader' },
          orgId,
          scopes: new Set(['projections:read']),
          sha256: tokenSha256(reader),
        },
      ],
    });
    await appendEvents(management.store, apiCreated({ id: 'good' }), apiCreated({ id: 'bad' }), apiActivated('bad'));
    await eventually(async () => (await status())['position'] === '3');
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (...args: readonly string[]): Promise<Outcome> =>
    svc(['projections', ...args, '--url', management.url], { env: { SVC_TOKEN: management.token } });

  it('lists where they are and what they could not take', async () => {
    expect(await status()).to.deep.include({ position: '3', lagEvents: 0, state: 'live', rebuild: null });
    expect((await status())['parked']).to.have.length(2);
    const { out, err } = await ask('status');
    const row = out.split('\n').find((line) => line.startsWith('fragile'));
    expect(row?.split('\t').slice(0, 6)).to.deep.equal(['fragile', 'live', '1', '3', '0', '2']);
    expect(err).to.match(/fragile: event 2 of api-bad is parked: .*cannot take it/);
  });

  it('retries and gives up', async () => {
    expect((await ask('retry', 'fragile')).out).to.equal('0 events folded, 2 still parked\n');
    expect((await ask('skip', 'fragile', '2')).out).to.equal('fragile: event 2 is given up\n');
    isBroken = false;
    const { out, code } = await ask('retry', 'fragile', '--json');
    expect([JSON.parse(out), code]).to.deep.equal([{ folded: 1, left: 0 }, 0]);
  });

  it('is made anew while somebody waits for it', async () => {
    const { out, err, code } = await ask('rebuild', 'fragile', '--drop');
    expect(err).to.equal('');
    expect([out, code]).to.deep.equal(['fragile is made anew, at position 3\n', 0]);
  });

  it('says why a rebuild stops, and goes on when that is mended', async () => {
    isBroken = true;
    const { err, code } = await ask('rebuild', 'fragile');
    expect(code).to.equal(1);
    expect(err).to.match(/the rebuild of fragile stops; readers keep what they have: .*cannot take it/);
    isBroken = false;
    await ask('retry', 'fragile');
    await eventually(async () => (await status())['rebuild'] === null);
  });

  for (const [name, method, path, status, code] of [
    ['a projection that is not there', 'POST', '/api/projections/none/rebuild', 404, 'projection_unknown'],
    ['the retry of one that is not there', 'POST', '/api/projections/none/retry', 404, 'projection_unknown'],
    ['an event that is not parked', 'POST', '/api/projections/fragile/skip?position=1', 404, 'event_not_parked'],
    ['no position', 'POST', '/api/projections/fragile/skip', 400, 'query_invalid'],
    ['a word that is not true or false', 'POST', '/api/projections/fragile/rebuild?drop=maybe', 400, 'query_invalid'],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const answer = await management.call(method, path);
      expect([answer.status, answer.json['code']]).to.deep.equal([status, code]);
    });
  }

  it('asks for its scopes', async () => {
    const headers = { authorization: `Bearer ${reader}` };
    expect((await management.call('GET', '/api/projections', undefined, headers)).status).to.equal(200);
    const refused = await management.call('POST', '/api/projections/fragile/rebuild', undefined, headers);
    expect([refused.status, refused.json['code']]).to.deep.equal([403, 'scope_missing']);
  });
});
