/** The gateways of this installation: takes their reports, as events when something changed and as cells for signs of life, and says how they are. */
import { v7 } from 'uuid';
import { fold } from '../../../domain/decider.ts';
import {
  type EventStore,
  type Position,
  type StoredEvent,
  shortPosition,
  WrongExpectedVersion,
} from '../../../domain/event-store.ts';
import { decodeEvent, encodeEvent } from '../../../domain/events.ts';
import {
  type GatewayNodeCommand,
  type GatewayNodeEvent,
  type GatewayNodeState,
  gatewayNode,
} from '../../../domain/gateway-node.ts';
import { type NodeId, nodeStream, type OrgId, toNodeId } from '../../../domain/ids.ts';
import { CellConflict, type SharedCells } from '../../../domain/shared-cells.ts';
import { FeedRefusal, type GatewayReport, type ReloadReport } from '../../../gateway/feed/feed.ts';
import { nodeKeyIdOf } from '../../../gateway/feed/node-box.ts';
import type { Log } from '../../../gateway/ports.ts';
import { gatewayCategories } from '../../../projections/gateway-config.ts';
import { Rejection } from '../errors.ts';
import type { Command } from '../handle-command.ts';
import { createKeyedMutex } from '../keyed-mutex.ts';
import { expectedOf } from '../load.ts';
import { createDeliveries } from './deliveries.ts';
import { createKeyUses } from './key-uses.ts';

export type NodesOptions = {
  readonly store: EventStore;
  readonly cells: SharedCells;
  readonly orgId: OrgId;
  readonly now: () => Date;
  readonly log: Pick<Log, 'error'>;
};

/** What a node said last, in the cell that all management nodes share. */
export type LastSeen = Pick<
  GatewayReport,
  'run' | 'startedAt' | 'version' | 'source' | 'apis' | 'position' | 'revision' | 'trouble' | 'reload'
> & {
  readonly seenAt: string;
  /** Starts that had the name before, newest last: they have lost it. */
  readonly past: readonly string[];
};

export type Nodes = {
  /** Throws `FeedRefusal` with `node_superseded` when a newer process has the name. */
  receive(report: GatewayReport): Promise<void>;
  lastSeen(): Promise<ReadonlyMap<string, LastSeen>>;
  /** Lets go what it said, once the log has forgotten it; nothing of one that has registered again. */
  forgotten(node: NodeId): Promise<void>;
};

/** Three signs of life that did not come. */
export const goneAfterMs = 30_000;

const prefix = 'gateway/';
const maxPast = 16;
const maxAttempts = 5;
const appendTimeoutMs = 10_000;

/** The stream keeps so many events; old ones go in groups. */
const maxCount = 1_000;
const retainEvery = 100n;

type Known = { readonly state: GatewayNodeState; readonly head: bigint | undefined };

export function createNodes({ store, cells, orgId, now, log }: NodesOptions): Nodes {
  const exclusively = createKeyedMutex();
  const deliveries = createDeliveries(cells);
  const keyUses = createKeyUses(cells);
  let known: ReadonlyMap<string, Known> = new Map();

  const unknow = (nodeId: string): void => {
    known = new Map([...known].filter(([id]) => id !== nodeId));
  };

  const run = async (command: GatewayNodeCommand): Promise<void> => {
    const { nodeId } = command;
    for (let attempt = 1; ; attempt++) {
      const before = known.get(nodeId) ?? (await loadNode(store, nodeId));
      // Unknown again unless the append says where the stream is now.
      unknow(nodeId);
      const events = gatewayNode.decide(command, before.state);
      try {
        const head = events.length === 0 ? before.head : await append(command, before.head, events);
        const state = fold(gatewayNode, events, before.state);
        known = new Map([...known, [nodeId, { state, head }]]);
        sayChangedKey(log, nodeId, before.state, state);
        return;
      } catch (error) {
        if (!(error instanceof WrongExpectedVersion) || attempt >= maxAttempts) throw error;
      }
    }
  };

  const append = async (
    { nodeId, type }: GatewayNodeCommand,
    before: bigint | undefined,
    events: readonly GatewayNodeEvent[],
  ): Promise<bigint | undefined> => {
    const stream = nodeStream(nodeId);
    const commandId = v7();
    const meta = {
      ...{ v: '1', at: now().toISOString(), orgId },
      ...{ actorType: 'gateway', actorId: nodeId, commandId, commandType: type },
    };
    const encoded = events.map((event) => encodeEvent(event, v7(), meta));
    const { heads } = await store.append([{ stream, expected: before ?? 'noStream', events: encoded }], {
      commandId,
      timeoutMs: appendTimeoutMs,
    });
    const head = heads.get(stream);
    if (head !== undefined && head / retainEvery !== (before ?? 0n) / retainEvery) {
      await store.retain(stream, { maxCount });
    }
    return head;
  };

  return {
    receive: (report) =>
      exclusively(report.node, async () => {
        // Without a sign of life it is new, or forgotten by now, maybe on another node of the management plane.
        if (!(await see(cells, report, now()))) unknow(report.node);
        await run(commandOf(report, orgId));
        await deliveries.take(report.node, report.deliveries ?? []);
        await keyUses.take(report.node, report.keys ?? []);
      }),
    lastSeen: () => readLastSeen(cells),
    forgotten: (nodeId) =>
      exclusively(nodeId, async () => {
        if ((await loadNode(store, nodeId)).state.identity) return;
        await cells.remove(`${prefix}${nodeId}`);
        await deliveries.forget(nodeId);
        await keyUses.forget(nodeId);
      }),
  };
}

async function readLastSeen(cells: SharedCells): Promise<ReadonlyMap<string, LastSeen>> {
  const found = await cells.list(prefix);
  return new Map(found.map(({ key, value }) => [key.slice(prefix.length), JSON.parse(value) as LastSeen]));
}

async function loadNode(store: EventStore, nodeId: NodeId): Promise<Known> {
  const newest = await store.readStream(nodeStream(nodeId), { back: true, limit: maxCount });
  const events = newest.toReversed().map((stored) => decodeEvent(stored).event as GatewayNodeEvent);
  return { state: fold(gatewayNode, events), head: newest[0]?.revision };
}

/** The command of a person, with all that the history knows of one. Throws `gateway_unknown`. */
export const forgetNode = (store: EventStore, orgId: OrgId, nodeId: NodeId): Command => ({
  type: 'DeregisterGateway',
  aggregate: nodeStream(nodeId),
  plan: async () => {
    const loaded = await loadNode(store, nodeId);
    const events = gatewayNode.decide({ type: 'DeregisterGateway', orgId, nodeId, reason: 'asked' }, loaded.state);
    if (events.length === 0) throw unknownGateway(nodeId);
    const writes = [{ stream: nodeStream(nodeId), expected: expectedOf(loaded), events }];
    return { writes, reply: { status: 200, body: { status: 'ok' } } };
  },
});

export const unknownGateway = (node: string): Rejection =>
  new Rejection('gateway_unknown', `no gateway ${node} has registered`);

/** It may have lost its disk, or somebody else has its token. */
function sayChangedKey(log: Pick<Log, 'error'>, node: NodeId, before: GatewayNodeState, now: GatewayNodeState): void {
  const [was, is] = [before.identity?.publicKey, now.identity?.publicKey];
  if (was === undefined || is === undefined || was === is) return;
  log.error('the key of a gateway has changed: its secrets are sealed for the new one', {
    ...{ node, keyId: nodeKeyIdOf(was), newKeyId: nodeKeyIdOf(is) },
  });
}

/** Claims the name for the newest process that comes with it. False for one of which there was no sign of life. */
async function see(cells: SharedCells, report: GatewayReport, at: Date): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const cell = await cells.read(`${prefix}${report.node}`);
    const before = cell && (JSON.parse(cell.value) as LastSeen);
    if (before?.past.includes(report.run)) throw superseded(report, before);
    try {
      const value = JSON.stringify(fitting(seenNow(report, before, at)));
      await cells.write(`${prefix}${report.node}`, value, cell?.version ?? 'none');
      return cell !== undefined;
    } catch (error) {
      if (!(error instanceof CellConflict) || attempt >= maxAttempts) throw error;
    }
  }
}

function seenNow(report: GatewayReport, before: LastSeen | undefined, at: Date): LastSeen {
  const { run, startedAt, version, source, apis, position, revision, trouble, reload } = report;
  const past = before === undefined || before.run === run ? (before?.past ?? []) : [...before.past, before.run];
  return {
    ...{ run, startedAt, version, source, apis, position, revision },
    ...(trouble ? { trouble } : {}),
    ...(reload ? { reload } : {}),
    seenAt: at.toISOString(),
    past: past.slice(-maxPast),
  };
}

/** What a cell takes, with room for what stands beside these. */
const maxTextBytes = 32 * 1024;

/** A node is alive whatever it has to say. */
function fitting({ trouble, reload, ...seen }: LastSeen): LastSeen {
  if (Buffer.byteLength(JSON.stringify([trouble, reload])) <= maxTextBytes) {
    return { ...seen, ...(trouble ? { trouble } : {}), ...(reload ? { reload } : {}) };
  }
  const message = 'too long to be shown';
  return {
    ...seen,
    ...(trouble ? { trouble: { ...trouble, message } } : {}),
    ...(reload ? { reload: counted(reload, message) } : {}),
  };
}

const counted = ({ errors: _, ...counts }: ReloadReport, message: string): ReloadReport => ({ ...counts, message });

const superseded = ({ node }: GatewayReport, { startedAt }: LastSeen): FeedRefusal =>
  new FeedRefusal('node_superseded', `another process that started at ${startedAt} reports as ${node} since`);

function commandOf(report: GatewayReport, orgId: OrgId): GatewayNodeCommand {
  const { node, group, tags, version, publicKey, position, revision, snapshotSha256, ms, rejected, source } = report;
  const applied = { position, revision, snapshotSha256, ms, errors: rejected };
  const nodeId = toNodeId(node);
  return {
    type: 'ReportGateway',
    ...{ orgId, nodeId, group, tags, version },
    ...(publicKey === undefined ? {} : { publicKey }),
    ...(source === 'none' ? {} : { applied }),
  };
}

export type Lag = {
  /** Events of the log that the node has not taken; null where positions cannot be counted. */
  readonly events: number | null;
  /** How long the first change that it has not taken has been there; 0 when it has all. */
  readonly seconds: number;
};

export async function lagOf(store: EventStore, position: Position, head: Position, now: Date): Promise<Lag> {
  const events = store.can.gapless ? Math.max(0, Number(shortPosition(head)) - Number(shortPosition(position))) : null;
  if (position >= head) return { events, seconds: 0 };
  const first = await firstChangeAfter(store, position);
  return { events, seconds: first ? Math.max(0, Math.round((now.getTime() - first.at.getTime()) / 1_000)) : 0 };
}

/** Pages end early where much else happened; far back it is found in the first ones. */
const maxPages = 20;

async function firstChangeAfter(store: EventStore, position: Position): Promise<StoredEvent | undefined> {
  let after = position;
  for (let page = 0; page < maxPages; page++) {
    const { events, next, atHead } = await store.readAll({
      after,
      limit: 1,
      filter: { categories: gatewayCategories },
    });
    if (events.length > 0 || atHead) return events[0];
    after = next;
  }
  return undefined;
}
