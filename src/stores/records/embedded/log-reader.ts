/** Reads all runs of all nodes of an embedded log, a few frames of each in turn. */
import { join } from 'node:path';
import { type Cursor, type Delivery, laneOf } from '../../../../domain/record-log.ts';
import { createFrameDecoder } from '../frame-decoder.ts';
import { LaneReader } from './lane-reader.ts';
import { NodeFollower } from './node-follower.ts';
import { nodesIn } from './nodes-in.ts';
import { beginning, type Place, toPlace } from './place.ts';

export class LogReader implements Disposable {
  readonly #directory: string;
  readonly #decode = createFrameDecoder();
  readonly #from: ReadonlyMap<string, Place>;
  readonly #nodes = new Map<string, NodeFollower>();
  readonly #lanes = new Map<string, LaneReader>();
  /** Runs that are over and read to the end. */
  readonly #finished = new Set<string>();

  constructor(directory: string, from: readonly Cursor[]) {
    this.#directory = directory;
    this.#from = new Map(from.map(({ lane, pos }) => [lane, toPlace(pos)]));
  }

  /** One turn over all lanes. */
  *look(): Generator<Delivery> {
    for (const node of nodesIn(this.#directory)) this.#follow(node);
    for (const follower of this.#nodes.values()) {
      follower.refresh();
      for (const { number, ended } of follower.epochs) {
        const lane = laneOf(follower.node, number);
        if (this.#finished.has(lane)) continue;
        let found = 0;
        for (const delivery of this.#lane(lane, follower, number).look()) {
          found += 1;
          yield delivery;
        }
        if (found === 0 && ended !== undefined) this.#finishWhenThrough(lane, follower, number);
      }
    }
  }

  [Symbol.dispose](): void {
    for (const lane of this.#lanes.values()) lane[Symbol.dispose]();
    for (const node of this.#nodes.values()) node[Symbol.dispose]();
    this.#lanes.clear();
    this.#nodes.clear();
  }

  #follow(node: string): void {
    if (!this.#nodes.has(node)) this.#nodes.set(node, new NodeFollower(node, join(this.#directory, node)));
  }

  #lane(lane: string, follower: NodeFollower, epoch: number): LaneReader {
    const known = this.#lanes.get(lane);
    if (known) return known;
    const reader = new LaneReader(follower, epoch, this.#from.get(lane) ?? beginning, this.#decode);
    this.#lanes.set(lane, reader);
    return reader;
  }

  /** An ended run gets no more frames: its reader gives back its file. */
  #finishWhenThrough(lane: string, follower: NodeFollower, epoch: number): void {
    const reader = this.#lanes.get(lane);
    if (!reader?.isThrough(follower.segments(epoch).at(-1)?.n ?? 0)) return;
    reader[Symbol.dispose]();
    this.#lanes.delete(lane);
    this.#finished.add(lane);
  }
}
