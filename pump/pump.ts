/** Starts and stops the pump: a pipeline per sink, and the listener that tells about them. */
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { RecordLog } from '../domain/record-log.ts';
import { type Admin, type ListenAddress, type Readiness, startAdmin } from './admin.ts';
import { Pipeline, type PipelineStatus } from './pipeline.ts';
import type { Log, Sink } from './ports.ts';
import type { SinkConfig } from './sink-config.ts';
import { createSink, type SinkSurroundings } from './sinks.ts';

export type PumpOptions = {
  readonly log: RecordLog;
  readonly sinks: Readonly<Record<string, SinkConfig>>;
  /** No listener when it is left out. */
  readonly listen?: ListenAddress;
  readonly logger: Log;
  /** Where sinks keep what is theirs, in a folder `pump`. */
  readonly dataDirectory: string;
  /** Makes the sinks; for sinks of one's own. */
  readonly openSink?: (config: SinkConfig, surroundings: SinkSurroundings) => Sink;
  readonly random?: () => number;
};

type PumpStatus = { readonly sinks: Readonly<Record<string, PipelineStatus>> };

export type Pump = {
  readonly address: AddressInfo | undefined;
  status(): Promise<PumpStatus>;
  readiness(): Promise<Readiness>;
  /** Finishes what is under way within the time and commits; the record log stays open. */
  stop(deadlineMs: number): Promise<void>;
};

/** Throws for what is wrong in the configuration of any sink before anything is read. */
export async function startPump(options: PumpOptions): Promise<Pump> {
  const { log, sinks, listen, logger, dataDirectory, openSink = createSink, random = Math.random } = options;
  const stateDirectory = join(dataDirectory, 'pump');
  const opens = Object.entries(sinks).map(([name, config]) => {
    const open = (): Sink => openSink(config, { name, stateDirectory });
    return { name, config, openSink: afterFirst(open(), open) };
  });
  const pipelines = new Map<string, Pipeline>();
  const status = async (): Promise<PumpStatus> => ({ sinks: await statusOf(pipelines) });
  const readiness = (): Promise<Readiness> => readinessOf(log, sinks, pipelines);
  // The port may be taken, so it comes before the first record moves.
  const admin: Admin | undefined = listen && (await startAdmin(listen, { status, readiness }));
  try {
    for (const { name, config, openSink: next } of opens) {
      pipelines.set(name, new Pipeline({ name, config, log, logger, openSink: next, random }));
    }
  } catch (error) {
    await stopAll(pipelines, 0);
    await admin?.close();
    throw error;
  }
  return {
    address: admin?.address,
    status,
    readiness,
    async stop(deadlineMs) {
      await stopAll(pipelines, deadlineMs);
      await admin?.close();
    },
  };
}

/** The sink that was made to check its configuration is the first one used. */
function afterFirst(first: Sink, open: () => Sink): () => Sink {
  let spare: Sink | undefined = first;
  return () => {
    const sink = spare ?? open();
    spare = undefined;
    return sink;
  };
}

async function statusOf(pipelines: ReadonlyMap<string, Pipeline>): Promise<Record<string, PipelineStatus>> {
  const entries = [...pipelines].map(async ([name, pipeline]) => [name, await pipeline.status()] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function readinessOf(
  log: RecordLog,
  sinks: Readonly<Record<string, SinkConfig>>,
  pipelines: ReadonlyMap<string, Pipeline>,
): Promise<Readiness> {
  const { readable, detail } = await log.health();
  const reasons = readable ? [] : [`record log: ${detail}`];
  for (const [name, config] of Object.entries(sinks)) {
    if (config.required && !pipelines.get(name)?.isUp) reasons.push(`sink ${name} is not up`);
  }
  return { isReady: reasons.length === 0, reasons };
}

async function stopAll(pipelines: ReadonlyMap<string, Pipeline>, deadlineMs: number): Promise<void> {
  await Promise.all([...pipelines.values()].map((pipeline) => pipeline.stop(deadlineMs)));
}
