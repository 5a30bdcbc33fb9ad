/** A KurrentDB double in a process of its own, so that what it costs is not counted with its clients. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { startKurrentDouble } from './kurrentdb-double.ts';

export type DoubleProcess = AsyncDisposable & {
  /** A connection string for the official client. */
  readonly url: string;
  /** Largest memory so far, MiB. */
  memoryMiB(): Promise<number>;
};

/** Room for a million events in its log. */
const heapMiB = 12_288;

export async function startDoubleProcess(): Promise<DoubleProcess> {
  const child = fork(import.meta.filename, { execArgv: [`--max-old-space-size=${heapMiB}`], stdio: 'inherit' });
  const url = await nextText(child);
  return {
    url,
    memoryMiB: async () => {
      child.send('memory');
      return Number(await nextText(child));
    },
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function nextText(child: ChildProcess): Promise<string> {
  const [text] = (await once(child, 'message')) as [string];
  return text;
}

async function serve(say: (text: string) => void): Promise<void> {
  const double = await startKurrentDouble();
  process.on('message', () => say(String(Math.round(process.resourceUsage().maxRSS / 1_024))));
  process.on('disconnect', () => void double.stop().then(() => process.exit(0)));
  say(double.url);
}

if (process.send && process.argv[1] === import.meta.filename) await serve((text) => process.send?.(text));
