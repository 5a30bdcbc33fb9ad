/** The audit export: every audited event in global order as NDJSON, with the exact payload, its hashes and a signed end. */
import { createHash } from 'node:crypto';
import type { EventStore, Position, StoredEvent } from '../../../domain/event-store.ts';
import { isAudited } from '../../../domain/ids.ts';
import { type Signer, statementBytes } from './anchor.ts';

/** First line. `from` is exclusive, `''` is the beginning; `isGapless`: every position is accounted for. */
export type ExportHeader = {
  readonly kind: 'header';
  readonly format: 1;
  readonly logId: string;
  readonly era: number;
  readonly from: Position;
  readonly to: Position;
  readonly isGapless: boolean;
};

/** `data` is the payload as it is stored, after sealing; `meta` holds `prevHash` and `hash`. */
export type ExportedEvent = {
  readonly kind: 'event';
  readonly position: Position;
  /** RFC 3339. */
  readonly at: string;
  readonly stream: string;
  readonly revision: string;
  readonly id: string;
  readonly type: string;
  readonly schema: number;
  readonly meta: Readonly<Record<string, string>>;
  readonly data: string;
};

/** Positions that hold nothing of the audit: reports of gateways, and what was let go of those. Both ends included. */
export type ExportedSkip = { readonly kind: 'skip'; readonly from: Position; readonly to: Position };

/** What the last line signs; `sha256` is over every byte before that line. */
type ExportStatement = {
  readonly logId: string;
  readonly era: number;
  readonly from: Position;
  readonly to: Position;
  readonly events: number;
  readonly sha256: string;
  readonly keyId: string;
};

export type ExportEnd = ExportStatement & {
  readonly kind: 'end';
  readonly publicKey: string;
  readonly signature: string;
};

export type ExportLine = ExportHeader | ExportedEvent | ExportedSkip | ExportEnd;

export type ExportRange = {
  /** Exclusive; default: the beginning. */
  readonly from?: Position;
  /** Inclusive; default, and at most: the head when the export begins. */
  readonly to?: Position;
};

/** Lines with their line ends. Bounded pages, so the length of the log does not matter to memory. */
export async function* exportAudit(
  store: EventStore,
  signer: Signer,
  { from = '', to }: ExportRange = {},
): AsyncGenerator<string> {
  const head = await store.head();
  const last = to !== undefined && to < head ? to : head;
  const { logId, era } = store.identity;
  const hash = createHash('sha256');
  const line = (value: ExportLine): string => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    return text;
  };
  const isGapless = store.can.gapless;
  yield line({ kind: 'header', format: 1, logId, era, from, to: last, isGapless });
  let events = 0;
  let written = from;
  for await (const stored of eventsBetween(store, from, last)) {
    if (!isAudited(stored.stream)) continue;
    const skipped = isGapless ? between(written, stored.position) : undefined;
    if (skipped) yield line(skipped);
    yield line(lineOf(stored));
    written = stored.position;
    events += 1;
  }
  const skipped = isGapless ? between(written, after(last)) : undefined;
  if (skipped) yield line(skipped);
  const statement: ExportStatement = {
    ...{ logId, era, from, to: last, events, sha256: hash.digest('hex'), keyId: signer.keyId },
  };
  const signature = signer.sign(statementBytes('export', statement));
  yield `${JSON.stringify({ kind: 'end', ...statement, publicKey: signer.publicKey, signature } satisfies ExportEnd)}\n`;
}

async function* eventsBetween(store: EventStore, from: Position, to: Position): AsyncGenerator<StoredEvent> {
  let after = from;
  while (after < to) {
    const page = await store.readAll({ after, limit: 500 });
    for (const event of page.events) {
      if (event.position > to) return;
      yield event;
    }
    if (page.atHead) return;
    after = page.next;
  }
}

const lineOf = ({ position, at, stream, revision, id, type, schema, meta, data }: StoredEvent): ExportedEvent => ({
  ...{ kind: 'event', position, at: at.toISOString(), stream, revision: String(revision), id, type, schema, meta },
  data: new TextDecoder('utf-8', { fatal: true }).decode(data),
});

/** The position that follows on a gapless engine. */
export const after = (position: Position): Position =>
  String(BigInt(position === '' ? 0 : position) + 1n).padStart(20, '0');

const before = (position: Position): Position => String(BigInt(position) - 1n).padStart(20, '0');

/** The positions between two, none of them included. */
function between(low: Position, high: Position): ExportedSkip | undefined {
  const from = after(low);
  return from < high ? { kind: 'skip', from, to: before(high) } : undefined;
}
