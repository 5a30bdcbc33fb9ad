/** Verifies an audit export with nothing else at hand: positions, chains, anchors and the signed end; names the first thing that is wrong. */
import { createHash } from 'node:crypto';
import type { AnchorEvent } from '../../../domain/anchor.ts';
import { type Position, shortPosition } from '../../../domain/event-store.ts';
import { anchorStream } from '../../../domain/ids.ts';
import { isSigned, statementBytes, statementOf } from './anchor.ts';
import {
  after,
  type ExportEnd,
  type ExportedEvent,
  type ExportedSkip,
  type ExportHeader,
  type ExportLine,
} from './export-audit.ts';
import { type ChainBreak, chainBreak, noHash, type StreamEnd } from './hash-chain.ts';
import { merkleRoot } from './merkle.ts';

export type ExportProblem = {
  /** Stable; `docs/reference/audit-export.md` lists them. */
  readonly code: ChainBreak | 'unreadable' | 'position' | 'anchor' | 'anchor_signature' | 'anchor_missing' | 'end';
  /** Where in the log; the last good place when the bad one has none. */
  readonly position: Position;
  /** Line of the file, from 1. */
  readonly line: number;
  readonly text: string;
};

export type Verification = {
  readonly problem?: ExportProblem;
  readonly events: number;
  readonly streams: number;
  readonly anchors: number;
  /** Events after the last anchor: only the signature of the end covers their number and order. */
  readonly unanchored: number;
  readonly from: Position;
  readonly to: Position;
  /** Who signed; to be compared with what was noted elsewhere. */
  readonly keyIds: readonly string[];
};

export type VerifyOptions = {
  /** Only this key may have signed. */
  readonly keyId?: string;
  /** Anchors that were copied elsewhere: each must be in the export as it is. */
  readonly copies?: readonly AnchorEvent[];
};

/** Stops at the first problem. */
export async function verifyExport(
  lines: AsyncIterable<string> | Iterable<string>,
  options: VerifyOptions = {},
): Promise<Verification> {
  const reading = new Reading(options);
  try {
    for await (const line of lines) reading.take(line);
    reading.finish();
    return reading.result();
  } catch (error) {
    if (error instanceof Wrong) return { ...reading.result(), problem: error.problem };
    throw error;
  }
}

class Wrong extends Error {
  readonly problem: ExportProblem;
  constructor(problem: ExportProblem) {
    super(problem.text);
    this.problem = problem;
  }
}

type Leaf = { readonly hash: string; readonly position: Position };

const chainTexts: Readonly<Record<ChainBreak, string>> = {
  no_hash: 'it has no hash',
  other_predecessor: 'it does not follow the event before it in its stream: one was inserted, dropped or changed',
  changed: 'it is not what was hashed: payload, metadata or place was changed',
  revision_missing: 'it does not have the next revision of its stream: one was dropped, inserted or swapped',
};

class Reading {
  readonly #options: VerifyOptions;
  readonly #hash = createHash('sha256');
  readonly #streams = new Map<string, StreamEnd>();
  readonly #signatures = new Set<string>();
  readonly #keyIds = new Set<string>();
  #header: ExportHeader | undefined;
  #end: ExportEnd | undefined;
  #leaves: Leaf[] = [];
  #lastAnchorHash: string | undefined;
  #position: Position = '';
  #line = 0;
  #events = 0;
  #anchors = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  result(): Verification {
    return {
      events: this.#events,
      streams: this.#streams.size,
      anchors: this.#anchors,
      unanchored: this.#leaves.length,
      from: this.#header?.from ?? '',
      to: this.#position,
      keyIds: [...this.#keyIds],
    };
  }

  take(text: string): void {
    this.#line += 1;
    if (this.#end) throw this.#wrong('end', 'something stands behind the end');
    const line = this.#parse(text);
    try {
      this.#judge(line);
    } catch (error) {
      if (error instanceof Wrong) throw error;
      // A member that is missing or of another type.
      throw this.#wrong('unreadable', `a line of kind ${line.kind} does not read: ${String(error)}`);
    }
    if (!this.#end) this.#hash.update(`${text}\n`);
  }

  #judge(line: ExportLine): void {
    if (!this.#header) this.#begin(line);
    else if (line.kind === 'event') this.#event(line);
    else if (line.kind === 'skip') this.#skip(line);
    else if (line.kind === 'end') this.#takeEnd(line);
    else throw this.#wrong('unreadable', 'a line is of no known kind');
  }

  #begin(line: ExportLine): void {
    if (line.kind !== 'header' || line.format !== 1) throw this.#wrong('unreadable', 'the first line is no header');
    this.#header = line;
    this.#position = line.from;
  }

  finish(): void {
    if (!this.#end) throw this.#wrong('end', 'the end is missing: the file was cut off');
    const missing = this.#options.copies?.find(({ signature }) => !this.#signatures.has(signature));
    if (missing) {
      throw this.#wrong(
        'anchor_missing',
        `the copied anchor of position ${shortPosition(missing.to)} is not in the log`,
      );
    }
  }

  #parse(text: string): ExportLine {
    try {
      const line: unknown = JSON.parse(text);
      if (typeof line === 'object' && line !== null && 'kind' in line) return line as ExportLine;
    } catch {
      // Said below.
    }
    throw this.#wrong('unreadable', 'a line is no JSON object with a kind');
  }

  #event(event: ExportedEvent): void {
    this.#advance(event.position, event.position);
    const before = this.#streams.get(event.stream);
    const revision = BigInt(event.revision);
    // A part of the log begins in the middle of its streams.
    const isFirstSeen = before === undefined && this.#header?.from !== '' && revision > 0n;
    const end = isFirstSeen ? { revision: revision - 1n, hash: event.meta['prevHash'] ?? noHash } : before;
    const reason = chainBreak(end, { ...event, revision, data: Buffer.from(event.data) });
    if (reason)
      throw this.#wrong(reason, `event ${event.id} (${event.stream}, revision ${revision}): ${chainTexts[reason]}`);
    const hash = event.meta['hash'] ?? noHash;
    this.#streams.set(event.stream, { revision, hash });
    // An anchor covers what stands before it; it is itself covered by the next.
    if (event.stream === anchorStream) this.#anchor(JSON.parse(event.data) as AnchorEvent, hash);
    this.#leaves.push({ hash, position: event.position });
    this.#events += 1;
  }

  #skip({ from, to }: ExportedSkip): void {
    if (to < from) throw this.#wrong('position', 'a skip ends before it begins');
    this.#advance(from, to);
  }

  #advance(from: Position, to: Position): void {
    const expected = this.#header?.isGapless ? after(this.#position) : undefined;
    if (from <= this.#position) {
      throw this.#wrong('position', `position ${shortPosition(from)} comes after ${shortPosition(this.#position)}`);
    }
    if (expected !== undefined && from !== expected) {
      this.#position = expected;
      throw this.#wrong('position', `position ${shortPosition(expected)} is missing`);
    }
    this.#position = to;
  }

  #anchor(anchor: AnchorEvent, hash: string): void {
    const { from, to, count, logId, era } = anchor;
    const where = `the anchor of positions ${shortPosition(from)} to ${shortPosition(to)}`;
    this.#demandSigned(anchor, statementBytes('anchor', statementOf(anchor)), where);
    if (this.#lastAnchorHash !== undefined && anchor.prevAnchorHash !== this.#lastAnchorHash) {
      throw this.#wrong('anchor', `${where} does not follow the anchor before it`);
    }
    this.#lastAnchorHash = hash;
    this.#anchors += 1;
    this.#signatures.add(anchor.signature);
    const isOfThisLog = logId === this.#header?.logId && era <= this.#header.era;
    if (this.#header?.from !== '' && !(isOfThisLog && from > String(this.#header?.from))) {
      // It covers events from before this part of the log, which are not here to be compared.
      this.#leaves = isOfThisLog ? this.#leaves.filter(({ position }) => position > to) : [];
      return;
    }
    const covered = this.#leaves.slice(0, count);
    const isPlaced = !isOfThisLog || (covered[0]?.position === from && covered.at(-1)?.position === to);
    const isWhole = covered.length === count && merkleRoot(covered.map((leaf) => leaf.hash)) === anchor.merkleRoot;
    if (!isPlaced || !isWhole) {
      this.#position = covered[0]?.position ?? from;
      throw this.#wrong('anchor', `${where} covers ${count} other events: one was dropped, inserted or swapped there`);
    }
    this.#leaves = this.#leaves.slice(count);
  }

  #takeEnd(end: ExportEnd): void {
    // A drop right before the end shows nowhere else.
    if (this.#header?.isGapless && this.#position < this.#header.to) this.#advance(after(this.#header.to), '');
    const { publicKey: _, signature: __, kind: ___, ...statement } = end;
    this.#demandSigned(end, statementBytes('export', statement), 'the end of the export');
    const isWhole = end.sha256 === this.#hash.digest('hex') && end.events === this.#events;
    const { logId, era, from, to } = this.#header ?? {};
    if (!isWhole || end.logId !== logId || end.era !== era || end.from !== from || end.to !== to) {
      throw this.#wrong('end', 'the end does not fit what stands before it');
    }
    this.#end = end;
  }

  #demandSigned(
    signed: { readonly keyId: string; readonly publicKey: string; readonly signature: string },
    bytes: Uint8Array,
    what: string,
  ): void {
    const { keyId } = this.#options;
    if (keyId !== undefined && signed.keyId !== keyId) {
      throw this.#wrong('anchor_signature', `${what} is signed with the key ${signed.keyId}`);
    }
    if (!isSigned(bytes, signed)) throw this.#wrong('anchor_signature', `${what} has no good signature`);
    this.#keyIds.add(signed.keyId);
  }

  #wrong(code: ExportProblem['code'], text: string): Wrong {
    return new Wrong({ code, position: this.#position, line: this.#line, text });
  }
}
