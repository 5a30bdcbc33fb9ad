/** What clients are told of limits: numbers that headers can hold, whatever somebody has written into a key. */
import { expect } from 'chai';
import { type ToldLimit, tellLimit } from '../../../gateway/http/limits.ts';

function told(limit: Partial<ToldLimit>): Map<string, string> {
  const context = { limits: [], limitsAt: 0, answerHeaders: [] as string[], arrivedMs: 0 };
  tellLimit(context, { name: 'key', limit: 5, windowS: 60, remaining: 4, resetMs: 12_000, ...limit }, 'all');
  const lines = context.answerHeaders;
  return new Map(lines.flatMap((name, index) => (index % 2 === 0 ? [[name, lines[index + 1] ?? ''] as const] : [])));
}

describe('limits as clients are told of them', () => {
  it('are whole seconds and requests', () => {
    expect(Object.fromEntries(told({}))).to.deep.equal({
      'X-RateLimit-Limit': '5',
      'X-RateLimit-Remaining': '4',
      'X-RateLimit-Reset': '12',
      'RateLimit-Policy': '"key";q=5;w=60',
      RateLimit: '"key";r=4;t=12',
    });
  });

  const rows: readonly [name: string, limit: Partial<ToldLimit>][] = [
    ['a rate that nobody reaches', { limit: 1e308, remaining: 1.000001e308 }],
    ['more digits than a header may have', { limit: 9e15, remaining: 9e15 - 1, windowS: 9e15, resetMs: 9e18 }],
  ];
  for (const [name, limit] of rows) {
    it(`are integers of at most fifteen digits: ${name}`, () => {
      const all = told(limit);
      const numbers = [...`${all.get('RateLimit-Policy')} ${all.get('RateLimit')}`.matchAll(/=([^;\s]+)/g)];
      expect(numbers).to.have.length(4);
      for (const [, number] of numbers) expect(number).to.match(/^\d{1,15}$/);
    });
  }

  it('never leave more than there is', () => {
    expect(told({ limit: 1_000, remaining: 1_001 }).get('RateLimit')).to.equal('"key";r=1000;t=12');
  });
});
