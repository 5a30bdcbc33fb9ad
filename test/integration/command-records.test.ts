/** Repeats of commands on an engine that keeps no record of them: whatever the command writes, the log says that it was done. */
import { expect } from 'chai';
import { type EventStore, forwardedStore } from '../../domain/event-store.ts';
import { toNodeId } from '../../domain/ids.ts';
import { commandsProjection } from '../../projections/commands.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { withCommandRecords } from '../../src/management/command-records.ts';
import { createNodes, forgetNode } from '../../src/management/fleet/nodes.ts';
import { type Command, type CommandContext, createCommands } from '../../src/management/handle-command.ts';
import { memoryCells } from '../../src/stores/events/memory-cells.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { keptLog } from '../support/given.ts';
import { orgId } from '../support/management-server.ts';
import { oneStreamAtATime } from '../support/one-stream-engine.ts';

const seal = (): never => {
  throw new Error('nothing is sealed here');
};

const withoutRecords = (store: EventStore): EventStore => ({
  ...forwardedStore(store),
  can: { ...store.can, commandRecord: false },
  command: async () => undefined,
});

describe('a repeat on an engine without command records', () => {
  it('of a series that broke off is no repeat of something done: it is completed, and known from then on', async () => {
    const series = oneStreamAtATime();
    const engine = series.wrap(withoutRecords(new MemoryEventStore()));
    const models = openSqliteReadModels(':memory:');
    const projector = startProjector({ store: engine, models, projections: [commandsProjection], log: keptLog() });
    const store = withCommandRecords(engine, models, projector);
    const settled = async () => undefined;
    const commands = createCommands({ store, seal, personal: { seal }, now: () => new Date(), settled });
    const context: CommandContext = {
      ...{ orgId, actor: { type: 'token', id: 'a' }, requestId: 'r', requestHash: 'h', isDryRun: false },
      idempotencyKey: 'once',
    };
    const streams = ['org-a', 'org-b', 'org-c'];
    const command: Command = {
      ...{ type: 'Test', aggregate: 'all' },
      plan: async () => {
        const missing = [];
        for (const stream of streams) {
          const events = [{ type: 'OrganisationCreated', orgId, name: stream } as const];
          const isMissing = (await store.readStream(stream, { limit: 1 })).length === 0;
          if (isMissing) missing.push({ stream, expected: 'noStream' as const, events });
        }
        return { writes: missing, reply: { status: 200, body: { missing: missing.length } } };
      },
    };
    const run = () => commands.run(context, command).catch((error: unknown) => error);
    try {
      for (const [stopAt, code] of [
        [2, 'StoreUnavailable'],
        [1, 'StoreUnavailable'],
      ] as const) {
        series.stopAt(stopAt);
        expect(await run()).to.have.property('code', code);
      }
      series.stopAt(Number.POSITIVE_INFINITY);
      expect(await run()).to.have.nested.property('body.missing', 2);
      expect(await run()).to.have.property('code', 'idempotency_key_expired');
    } finally {
      await projector.stop();
      models.close();
    }
  });

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
