/** Starts a KurrentDB double: a gRPC server in this process that speaks the server's protocol over a log in memory. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import gossipServices from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/gossip_grpc_pb.js';
import featureServices from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/serverfeatures_grpc_pb.js';
import streamServices from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_grpc_pb.js';
import sessionServices from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v2/streams/streams_grpc_pb.js';
import { append } from './kurrentdb-double/append.ts';
import { batchAppend } from './kurrentdb-double/batch-append.ts';
import { deleteStream, tombstoneStream } from './kurrentdb-double/delete.ts';
import { earlyHeaders } from './kurrentdb-double/early-headers.ts';
import { type Faults, FaultyGate, noFaults } from './kurrentdb-double/faults.ts';
import { type Member, readGossip } from './kurrentdb-double/gossip.ts';
import { getSupportedMethods, type Level, limits } from './kurrentdb-double/levels.ts';
import { Line } from './kurrentdb-double/line.ts';
import { type Clock, DoubleLog } from './kurrentdb-double/log.ts';
import { read } from './kurrentdb-double/read.ts';
import { appendRecords, appendSession } from './kurrentdb-double/sessions.ts';

export type DoubleOptions = {
  readonly level?: Level;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Doubles that share a log are nodes of one cluster. */
  readonly log?: DoubleLog;
  /** Stamps events and measures `$maxAge`; the clock of the machine when absent. A log that is given has its own. */
  readonly clock?: Clock;
};

export type KurrentDouble = {
  /** A connection string for the official client. */
  readonly url: string;
  readonly port: number;
  readonly log: DoubleLog;
  readonly faults: Faults;
  /** What the server can do; clients learn it when they connect the next time. */
  setLevel(level: Level): void;
  /** What it tells of its cluster; alone and leader until set. */
  setMembers(members: readonly Member[]): void;
  /** Breaks every connection; new ones are accepted. */
  breakConnections(): void;
  /** Breaks every connection and refuses new ones; nothing of the double keeps the process alive any more. */
  stop(): Promise<void>;
  /** Stops when it runs, forgets what a server forgets, and accepts connections on the same port. */
  restart(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

type State = { level: Level; members: readonly Member[] };
type Running = { readonly server: Server; readonly line: Line };

export async function startKurrentDouble(options: DoubleOptions = {}): Promise<KurrentDouble> {
  const log = options.log ?? new DoubleLog(options.clock ?? machineClock);
  const faults = noFaults();
  const state: State = { level: options.level ?? '26.1', members: [] };
  let running: Running | undefined = await run(log, faults, state, options.port ?? 0);
  const { port } = running.line;
  state.members = [{ port, state: 'leader' }];
  const stop = async (): Promise<void> => {
    const stopping = running;
    running = undefined;
    await stopping?.line.close();
    stopping?.server.forceShutdown();
  };
  return {
    url: `kurrentdb://127.0.0.1:${port}?tls=false`,
    port,
    log,
    faults,
    setLevel: (level) => {
      state.level = level;
    },
    setMembers: (members) => {
      state.members = members;
    },
    breakConnections: () => running?.line.breakAll(),
    stop,
    restart: async () => {
      await stop();
      log.forgetIds();
      running = await run(log, faults, state, port);
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function run(log: DoubleLog, faults: Faults, state: State, port: number): Promise<Running> {
  const server = new Server({
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    interceptors: [earlyHeaders],
  });
  const line = new Line(await listening(server));
  addServices(server, log, new FaultyGate(faults, line, () => state.members), state);
  await line.open(port).catch((error: unknown) => {
    server.forceShutdown();
    throw error;
  });
  return { server, line };
}

const machineClock: Clock = {
  get nowMs() {
    return Date.now();
  },
};

const listening = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });

function addServices(server: Server, log: DoubleLog, gate: FaultyGate, state: State): void {
  const limitsNow = () => limits(state.level);
  server.addService(streamServices.StreamsService, {
    append: append(log, gate, limitsNow),
    batchAppend: batchAppend(log, gate, limitsNow),
    read: read(log, gate, () => state.level !== '23.10'),
    delete: deleteStream(log, gate),
    tombstone: tombstoneStream(log, gate),
  });
  server.addService(sessionServices.StreamsServiceService, {
    appendSession: appendSession(log, gate, () => state.level),
    appendRecords: appendRecords(log, gate, () => state.level),
  });
  server.addService(featureServices.ServerFeaturesService, {
    getSupportedMethods: getSupportedMethods(
      () => state.level,
      () => gate.faults.hidesFeatures,
    ),
  });
  server.addService(gossipServices.GossipService, {
    read: readGossip(
      () => state.members,
      () => log.clock.nowMs,
    ),
  });
}
