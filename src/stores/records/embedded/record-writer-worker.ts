/** The writer thread of a run: commits what has come in since the last commit as one transaction and answers. */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type EncodedFrame, SegmentWriter, type WriterSettings } from './segment-writer.ts';

/** What the thread is told. */
export type WriterRequest =
  | { readonly kind: 'append'; readonly id: number; readonly frame: EncodedFrame }
  | { readonly kind: 'close'; readonly last: number | undefined };

/** All appends up to `upTo` that were not answered before are stored, or none of them is. */
export type WriterAnswer =
  | { readonly kind: 'stored'; readonly upTo: number }
  | { readonly kind: 'failed'; readonly upTo: number; readonly reason: string };

const maxFramesPerCommit = 64;
const tidyEveryMs = 60_000;

function serve(port: MessagePort, settings: WriterSettings): void {
  const writer = new SegmentWriter(settings);
  const answer = (message: WriterAnswer): void => port.postMessage(message);
  const tidying = setInterval(() => writer.tidy(Date.now()), tidyEveryMs);

  function append(requests: readonly Extract<WriterRequest, { kind: 'append' }>[]): void {
    const upTo = requests.at(-1)?.id;
    if (upTo === undefined) return;
    try {
      writer.write(requests.map(({ frame }) => frame));
      answer({ kind: 'stored', upTo });
    } catch (error) {
      answer({ kind: 'failed', upTo, reason: error instanceof Error ? error.message : String(error) });
    }
  }

  port.on('message', (first: WriterRequest) => {
    const appends: Extract<WriterRequest, { kind: 'append' }>[] = [];
    let request: WriterRequest | undefined = first;
    while (request?.kind === 'append') {
      appends.push(request);
      request = appends.length < maxFramesPerCommit ? receiveMessageOnPort(port)?.message : undefined;
    }
    append(appends);
    if (request?.kind !== 'close') return;
    clearInterval(tidying);
    writer.close(request.last);
    port.close();
  });
}

if (parentPort) serve(parentPort, workerData as WriterSettings);
