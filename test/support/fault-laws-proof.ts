/** Invariant 8: hash chains and anchors verify, computed from the log alone. */
import type { AnchorEvent } from '../../domain/anchor.ts';
import { type StoredEvent, shortPosition } from '../../domain/event-store.ts';
import { anchorStream, isAudited } from '../../domain/ids.ts';
import { isSigned, statementBytes, statementOf } from '../../src/stores/integrity/anchor.ts';
import { noHash, verifyStream } from '../../src/stores/integrity/hash-chain.ts';
import { merkleRoot } from '../../src/stores/integrity/merkle.ts';
import type { FinalLog, History } from './fault-history.ts';

/** 8. Hash chains and anchors verify. */
export function proofsHold(_: History, finalLog: FinalLog): readonly string[] {
  const chains = [...finalLog.streams].flatMap(([stream, events]) => {
    const wrong = isAudited(stream) ? verifyStream(events) : undefined;
    return wrong ? [`the chain of ${stream} breaks at revision ${wrong.event.revision}: ${wrong.reason}`] : [];
  });
  return [...chains, ...judgeAnchors(finalLog)];
}

const anchorOf = ({ data }: StoredEvent): AnchorEvent => JSON.parse(new TextDecoder().decode(data)) as AnchorEvent;

/** Each anchor covers what follows the one before it, without a gap and without an overlap. */
function judgeAnchors({ events, streams, logId, era }: FinalLog): readonly string[] {
  const audited = events.filter(({ stream }) => isAudited(stream));
  let covered = 0;
  let previous = noHash;
  return (streams.get(anchorStream) ?? []).flatMap((stored) => {
    const anchor = anchorOf(stored);
    const where = `the anchor at ${shortPosition(stored.position)}`;
    const leaves = audited.slice(covered, covered + anchor.count);
    covered += anchor.count;
    const follows = anchor.prevAnchorHash;
    const expected = previous;
    previous = stored.meta['hash'] ?? noHash;
    if (!isSigned(statementBytes('anchor', statementOf(anchor)), anchor)) return [`${where} has no good signature`];
    if (anchor.logId !== logId || anchor.era > era) return [`${where} is of another log or a later era`];
    if (follows !== expected) return [`${where} does not follow the one before it`];
    const isPlaced = leaves[0]?.position === anchor.from && leaves.at(-1)?.position === anchor.to;
    const hashes = leaves.map(({ meta }) => meta['hash'] ?? noHash);
    const isWhole = leaves.length === anchor.count && hashes.length > 0 && merkleRoot(hashes) === anchor.merkleRoot;
    return isPlaced && isWhole ? [] : [`${where} covers other events than the log has there`];
  });
}
