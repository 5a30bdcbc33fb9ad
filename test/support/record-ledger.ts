/** The law of the ledger, checked: every number that was produced has become exactly one thing. */
import { expect } from 'chai';
import type { LedgerDelta } from '../../domain/record-log.ts';

export function expectLaw(ledger: LedgerDelta): void {
  const lost = Object.values(ledger.lost).reduce((sum, count) => sum + count, 0);
  const { produced, delivered, filtered, deadLettered, overtaken, unexplained } = ledger;
  expect(delivered + filtered + deadLettered + overtaken + lost + unexplained, JSON.stringify(ledger)).to.equal(
    produced,
  );
}
