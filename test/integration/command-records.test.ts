/** Repeats of commands on an engine that keeps no record of them: whatever the command writes, the log says that it was done. */
import { expect } from 'chai';
import { type EventStore, forwardedStore } from '../../domain/event-store.ts';
import { toNodeId } from '../../domain/ids.ts';
import { commandsProjection } from '../../projections/commands.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { withCommandRecords } from '../../src/management/command-records.ts';
import { createNodes, forgetNode } from '../../src/management/fleet/nodes.ts';
import { type CommandContext, createCommands } from '../../src/management/handle-command.ts';
import { memoryCells } from '../../src/stores/events/memory-cells.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { keptLog } from '../support/given.ts';
import { orgId } from '../support/management-server.ts';

const seal = (): never => {
  throw new Error('nothing is sealed here');
};

const withoutRecords = (store: EventStore): EventStore => ({
  ...forwardedStore(store),
  can: { ...store.can, commandRecord: false },
  command: async () => undefined,
});

describe('a repeat on an engine without command records', () => {
  it('of forgetting a gateway is told where the change stands', async () => {
    const engine = withoutRecords(new MemoryEventStore());
    const models = openSqliteReadModels(':memory:');
    const projector = startProjector({ store: engine, models, projections: [commandsProjection], log: keptLog() });
    const store = withCommandRecords(engine, models, projector);
    const now = () => new Date();
    const settled = async () => undefined;
    try {
      const nodes = createNodes({ store, cells: memoryCells(), orgId, now, log: keptLog() });
      await nodes.receive({ ...gatewayReport(), node: toNodeId('edge-1') });
      const commands = createCommands({ store, seal, personal: { seal }, now, settled });
      const context: CommandContext = {
        ...{ orgId, actor: { type: 'token', id: 'a' }, requestId: 'r', requestHash: 'h', isDryRun: false },
        idempotencyKey: 'once',
      };
      const forget = () => commands.run(context, forgetNode(store, orgId, toNodeId('edge-1')));
      expect((await forget()).status).to.equal(200);
      const again = await forget().catch((error: unknown) => error);
      expect(again).to.have.property('code', 'idempotency_key_expired');
      // Reports of gateways are no requests that anybody repeats.
      expect(models.count('commands')).to.equal(1);
    } finally {
      await projector.stop();
      models.close();
    }
  });
});
