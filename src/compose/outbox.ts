/** Where a gateway keeps events for webhooks: an embedded record log of its own, and the sender with its connections. */
import { existsSync } from 'node:fs';
import type { BodyTemplates } from '../../gateway/events/body-templates.ts';
import type { OpenOutbox, OutboxStore } from '../../gateway/events/outbox.ts';
import type { OutboxEntry } from '../../gateway/events/outbox-entry.ts';
import { openEmbeddedLogOf } from '../stores/records/embedded-record-log.ts';
import type { ProcessLog } from '../telemetry/log.ts';

export type OutboxPlace = {
  readonly directory: string;
  readonly node: string;
  readonly allowLinkLocal: boolean;
  readonly log: Pick<ProcessLog, 'warn'>;
  /** Of one attempt; default 30 s. */
  readonly timeoutMs?: number;
  /** `gateway.templates_path`. */
  readonly templatesPath?: string;
  /** Files of templates are read for each attempt: no configuration says that they may be others. */
  readonly readsAnew?: boolean;
};

/** What a loss of power may cost; a kill of the process costs nothing. */
const fsyncMs = 200;
const maxBytes = 268_435_456;
/** Longer than an event is tried. */
const maxAgeMs = 2 * 86_400_000;

/** Nothing is opened, and no client for HTTP loaded, before the first handler needs it. */
export const outboxOpener = ({ directory, node, allowLinkLocal, log, ...place }: OutboxPlace): OpenOutbox => {
  const { templatesPath: folder, readsAnew = false, ...limits } = place;
  let loading: Promise<BodyTemplates> | undefined;
  const load = async (): Promise<BodyTemplates> => {
    const { BodyTemplates } = await import('../../gateway/events/body-templates.ts');
    return new BodyTemplates({ folder, readsAnew });
  };
  const templates = (): Promise<BodyTemplates> => {
    loading ??= load();
    return loading;
  };
  const open = async (): Promise<OutboxStore> => {
    const { createSendWebhook, webhookAgent } = await import('../../gateway/events/webhook-sender.ts');
    const records = openEmbeddedLogOf<OutboxEntry>({ directory, fsync: fsyncMs, maxBytes, maxAgeMs, log });
    const lane = await records.openLane(node);
    const agent = webhookAgent({ allowLinkLocal });
    return {
      log: records,
      lane,
      send: createSendWebhook({
        ...limits,
        now: () => new Date(),
        agent,
        allowLinkLocal,
        templates: await templates(),
      }),
      close: async () => {
        await records.close();
        await agent.destroy();
      },
    };
  };
  return Object.assign(open, { isLeft: existsSync(directory), templates });
};
