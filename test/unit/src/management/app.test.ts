/** What the application does with faults of its own. */
import { expect } from 'chai';
import { startTestManagement } from '../../../support/management-server.ts';

describe('a fault of the program', () => {
  it('is a 500 without detail, and is logged with its request', async () => {
    await using management = await startTestManagement({
      nodes: { lastSeen: () => Promise.reject(new Error('a detail that stays inside')) },
    });
    const answer = await management.call('GET', '/api/gateways', undefined, { 'x-request-id': 'faulty' });
    expect(answer.status).to.equal(500);
    expect(answer.json).to.include({ code: 'internal', instance: 'faulty' });
    expect(answer.text).not.to.contain('detail that stays');
    const [line] = management.log.lines.filter(({ level }) => level === 'error');
    expect(JSON.stringify(line)).to.contain('a detail that stays inside').and.to.contain('faulty');
  });

  it('is no fault when the limit of the token is reached', async () => {
    await using management = await startTestManagement({ settings: { rateLimit: { rate: 1, burst: 1 } } });
    expect((await management.call('GET', '/api/apis')).status).to.equal(200);
    const limited = await management.call('GET', '/api/apis');
    expect(limited.status).to.equal(429);
    expect(Number(limited.headers.get('retry-after'))).to.be.greaterThan(0);
  });
});
