/** Copies of anchors in a place outside the log where they cannot be changed: a folder, or an address that takes PUT. */
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnchorEvent } from '../../../domain/anchor.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { anchorStream } from '../../../domain/ids.ts';
import type { SharedCells } from '../../../domain/shared-cells.ts';

/** Puts one anchor under a name that is new each time; resolves when it is safe. A copy that is there already is kept. */
export type PutAnchor = (name: string, text: string) => Promise<void>;

/** The cell says up to which revision of the anchors the copies go. */
const copiedCell = 'anchors/copied';

/** Copies what has no copy yet, oldest first. */
export async function copyAnchors(
  { store, cells }: { readonly store: EventStore; readonly cells: SharedCells },
  put: PutAnchor,
): Promise<void> {
  const cell = await cells.read(copiedCell);
  let version = cell?.version;
  let from = cell ? BigInt(cell.value) + 1n : 0n;
  for (;;) {
    const anchors = await store.readStream(anchorStream, { from, limit: 100 });
    for (const { revision, data } of anchors) {
      const text = new TextDecoder().decode(data);
      await put(nameOf(revision, text), `${text}\n`);
      version = await cells.write(copiedCell, String(revision), version ?? 'none');
      from = revision + 1n;
    }
    if (anchors.length === 0) return;
  }
}

/** After a restore from a backup the log goes on with revisions that have been copied already, in another era. */
function nameOf(revision: bigint, text: string): string {
  const { era } = JSON.parse(text) as Pick<AnchorEvent, 'era'>;
  return `anchor-${String(revision).padStart(10, '0')}${era === 0 ? '' : `-${era}`}.json`;
}

/** `management.anchor_copy`: a folder that exists, or an http(s) address of a folder that takes PUT with If-None-Match. */
export const anchorCopyTo = (place: string): PutAnchor =>
  /^https?:\/\//.test(place) ? putToAddress(place) : putToFolder(place);

const putToFolder =
  (folder: string): PutAnchor =>
  async (name, text) => {
    const path = join(folder, name);
    try {
      await using file = await open(path, 'wx', 0o444);
      await file.writeFile(text);
      await file.sync();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await demandSame(path, text);
    }
  };

/** What a kill left half written is no copy, and neither is the anchor of another log. */
async function demandSame(path: string, text: string): Promise<void> {
  if ((await readFile(path, 'utf8')) === text) return;
  throw new Error(`${path} is there and holds something else: anchors of another log, or half of a copy; move it away`);
}

const putTimeoutMs = 30_000;

const putToAddress =
  (address: string): PutAnchor =>
  async (name, text) => {
    const response = await fetch(`${address.replace(/\/+$/, '')}/${name}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'if-none-match': '*' },
      body: text,
      signal: AbortSignal.timeout(putTimeoutMs),
    });
    await response.body?.cancel();
    // 412: it is there already.
    if (!response.ok && response.status !== 412) throw new Error(`the copy of ${name} was answered ${response.status}`);
  };
