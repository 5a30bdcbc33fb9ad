/** Durations of definitions: what is read, and what is refused. */
import { expect } from 'chai';
import { durationMs } from '../../../../domain/api/duration.ts';

describe('durationMs', () => {
  const read: readonly [string, number][] = [
    ['PT1M', 60_000],
    ['P1DT2H', 93_600_000],
    ['PT0.5S', 500],
    ['P2W', 1_209_600_000],
    ['1h2m3s', 3_723_000],
    ['1.5s', 1500],
    ['300ms', 300],
    ['10us', 0.01],
    ['0s', 0],
  ];
  for (const [text, ms] of read) {
    it(`reads ${text} as ${ms} ms`, () => expect(durationMs(text)).to.equal(ms));
  }
  for (const text of ['', 'P', 'PT', 'P1Y', 'P1M', 'P1DT', '-1s', '1', 'm', '1 s', 'PT-1S', '1y', 'PT1M1M']) {
    it(`refuses ${JSON.stringify(text)}`, () => expect(durationMs(text)).to.equal(undefined));
  }
});
