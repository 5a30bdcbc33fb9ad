/** A report of a gateway, complete but for what a test says. */
import type { GatewayReport } from '../../gateway/feed/feed.ts';

export const gatewayReport = (parts: Partial<Omit<GatewayReport, 'node'>> = {}): Omit<GatewayReport, 'node'> => ({
  ...{ run: 'run-1', startedAt: '2026-01-01T00:00:00.000Z', group: 'default', tags: [], version: '1.0.0' },
  ...{ source: 'feed', apis: 1, position: '12', revision: '9', snapshotSha256: 'ab', ms: 3, rejected: [] },
  ...parts,
});
