/** What an attempt to deliver an event means: the table of the design, and the pauses between attempts. */
import { expect } from 'chai';
import fc from 'fast-check';
import { type Attempted, verdictOf, webhookRetries } from '../../../gateway/events/verdict.ts';

const nowMs = 1_750_000_000_000;
const judge = (status: number | null, parts: Partial<Attempted> & { readonly retryAfterMs?: number } = {}) => {
  const { retryAfterMs, ...others } = parts;
  const sent = {
    status,
    timeMs: 5,
    error: status === null ? 'ECONNREFUSED' : null,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return verdictOf({ sent, attempts: 1, sinceMs: nowMs, nowMs, random: 1, ...others }, webhookRetries);
};
const pause = (...args: Parameters<typeof judge>): number | undefined => {
  const verdict = judge(...args);
  return verdict.state === 'retrying' ? verdict.dueMs - nowMs : undefined;
};

describe('the verdict on an attempt', () => {
  for (const status of [200, 204, 299]) {
    it(`is delivered after ${status}`, () => expect(judge(status, { attempts: 50 }).state).to.equal('delivered'));
  }

  for (const status of [400, 401, 403, 404, 410, 418, 422, 451, 499]) {
    it(`gives up after three times ${status}`, () => {
      const states = [1, 2, 3].map((attempts) => judge(status, { attempts }).state);
      expect(states).to.deep.equal(['retrying', 'retrying', 'dead']);
    });
  }

  for (const status of [100, 301, 307, 408, 425, 429, 500, 503, 599, null]) {
    it(`goes on for a day after ${status ?? 'no answer'}`, () => {
      const dayMs = 86_400_000;
      expect(judge(status, { attempts: 100, sinceMs: nowMs - dayMs + 600_000 }).state).to.equal('retrying');
      expect(judge(status, { attempts: 100, sinceMs: nowMs - dayMs + 599_999 }).state).to.equal('dead');
    });
  }

  it('pauses a second, doubling to ten minutes', () => {
    const pauses = Array.from({ length: 13 }, (_, index) => pause(500, { attempts: index + 1 }));
    expect(pauses).to.deep.equal([
      ...[1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((seconds) => seconds * 1_000),
      ...[600_000, 600_000, 600_000],
    ]);
  });

  it('pauses at least half as long, and never longer', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempts, random) => {
          const whole = Math.min(600_000, 1_000 * 2 ** (attempts - 1));
          expect(pause(500, { attempts, random })).to.be.within(whole / 2, whole);
        },
      ),
    );
  });

  it('waits as long as it is asked to, not shorter than its own pause, and not beyond the day', () => {
    expect(pause(503, { retryAfterMs: 3_600_000 })).to.equal(3_600_000);
    expect(pause(503, { retryAfterMs: 10, attempts: 4 })).to.equal(8_000);
    expect(judge(503, { retryAfterMs: 86_400_001 }).state).to.equal('dead');
  });
});
