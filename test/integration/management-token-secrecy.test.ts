/** No stored byte and no log line holds the text of a token. */
import { expect } from 'chai';
import { redact } from '../../src/telemetry/redact.ts';
import { json } from '../support/management-refusals.ts';
import { bearer, startTestManagement } from '../support/management-server.ts';
import { issue, statusWith } from '../support/management-tokens.ts';

describe('the text of a token', () => {
  it('is in no event, no record of a command, no cell, no read model and no log line', async () => {
    await using management = await startTestManagement({ isInstalled: true });
    const { call, store, cells, models, log, token: admin } = management;
    const { id, token } = await issue(management, { roles: ['admin'] }, { 'idempotency-key': 'first' });
    const rotated = await call('POST', `/api/tokens/${id}/rotate`, '{}', { ...json, 'idempotency-key': 'second' });
    const next = String(rotated.json['token']);
    expect(await statusWith(management, next)).to.equal(200);
    // Where tokens end up by mistake.
    await call('GET', `/api/tokens/${next}`, undefined, { 'x-request-id': 'fine' });
    await call('GET', `/api/tokens?after=${next}`);
    await call('GET', `/api/nothing/${next}`, undefined, bearer(next));
    await call('DELETE', `/api/tokens/${id}`, undefined, bearer(`${next}x`));

    const { events } = await store.readAll({ after: '', limit: 1_000 });
    const commandIds = events.map(({ meta }) => meta['commandId'] ?? '');
    const records = await Promise.all(commandIds.map((commandId) => store.command(commandId)));
    const responses = records.flatMap((record) => (record?.response ? [Buffer.from(record.response).toString()] : []));
    expect(responses.join()).to.contain(`"id":"${id}"`).and.contain('"token":null');
    const stored = [
      ...events.map(({ data, meta }) => `${Buffer.from(data)} ${JSON.stringify(meta)}`),
      ...responses,
      ...(await cells.list('')).map(({ key, value }) => `${key} ${value}`),
      ...['tokens', 'history', 'history_aggregates'].flatMap((collection) =>
        models.list(collection, { limit: 1_000 }).map((document) => JSON.stringify(document)),
      ),
    ].join('\n');
    const logged = JSON.stringify(log.lines.map(({ message, fields }) => redact({ message, fields })));
    expect(stored).to.contain(id);
    for (const text of [admin, token, next]) {
      // All but what is shown of it: the id and the first four characters.
      const secret = text.slice(-39);
      expect(stored).to.not.contain(secret);
      expect(logged).to.not.contain(secret);
    }
  });
});
