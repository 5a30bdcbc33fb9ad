/** What a command id did, for engines that keep no record of commands themselves (event-store design 10.2). */
import type { CommandRecord } from '../domain/event-store.ts';
import type { Projection } from './projection.ts';
import type { DocumentReader } from './read-model-store.ts';

const commands = 'commands';

/** In the metadata of events that others of the same command follow in a later append: it is not done with them. */
export const openSeries = { series: 'open' } as const;

export const commandsProjection: Projection = {
  name: 'commands',
  version: 1,
  collections: [commands],
  filter: {
    categories: ['api', 'cert', 'key', 'policy', 'webhook', 'token', 'org', 'bundle', 'gwgroup', 'gwnode', 'uniq'],
  },
  onPoison: 'skip',
  // Events come in order: what stays is the position of the command's last one. What nobody sent, such as reports of gateways, nobody repeats.
  apply: ({ meta, position }) => {
    const { commandId: id, requestHash } = meta;
    if (id === undefined || requestHash === undefined || meta['series'] === openSeries.series) return [];
    const document = { id, sort: '', labels: [], body: { requestHash, position } satisfies CommandRecord };
    return [{ op: 'put', collection: commands, document }];
  },
};

/** Without the answer: the log does not hold it. */
export const commandRecord = (documents: DocumentReader, id: string): CommandRecord | undefined =>
  documents.get(commands, id)?.body as CommandRecord | undefined;
