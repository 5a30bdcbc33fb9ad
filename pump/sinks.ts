/** The kinds of sinks by the name that a configuration gives them. */
import { nearestName } from '../domain/errors.ts';
import type { Sink } from './ports.ts';
import type { SinkConfig } from './sink-config.ts';
import { createFileSink } from './sinks/file.ts';
import { createStdoutSink } from './sinks/stdout.ts';

/** What a sink is given beside its options. `stateDirectory` is for what it must keep of its own. */
export type SinkSurroundings = { readonly name: string; readonly stateDirectory: string };

type Create = (meta: Readonly<Record<string, unknown>>, surroundings: SinkSurroundings) => Sink;

const kinds: Readonly<Record<string, Create>> = {
  stdout: (meta) => createStdoutSink(meta),
  file: createFileSink,
};

const sinkTypes: readonly string[] = Object.keys(kinds);

/** Throws for a kind or an option that does not exist, before anything is opened. */
export function createSink(config: SinkConfig, surroundings: SinkSurroundings): Sink {
  const create = Object.hasOwn(kinds, config.type) ? kinds[config.type] : undefined;
  if (create) return create(config.meta ?? {}, surroundings);
  const nearest = nearestName(config.type, sinkTypes);
  const hint = nearest ? `did you mean "${nearest}"?` : `there are ${sinkTypes.join(', ')}`;
  throw new Error(`pump.sinks.${surroundings.name}.type: there is no sink "${config.type}"; ${hint}`);
}
