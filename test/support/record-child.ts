/** Starts the processes of the record tests and reads the lines they print. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

type Line = Readonly<Record<string, unknown>>;

export type RecordChild = {
  readonly lines: readonly Line[];
  /** Resolves with the exit code when the process is gone; undefined after a signal. */
  readonly ended: Promise<number | null>;
  readonly firstLine: Promise<Line>;
  kill(signal?: NodeJS.Signals): Promise<void>;
};

type Script = 'record-writer-process' | 'record-pump-process' | 'event-gateway-process';

export function startChild(script: Script, ...args: string[]): RecordChild {
  const child = spawn(process.execPath, [join(import.meta.dirname, `${script}.ts`), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: Line[] = [];
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const firstLine = new Promise<Line>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      // The last line of a killed process may be cut.
      if (!text.endsWith('}')) return;
      const line = JSON.parse(text) as Line;
      lines.push(line);
      resolve(line);
    });
    ended.then((code) => reject(new Error(`${script} ended with ${code} before it said anything`)), reject);
  });
  firstLine.catch(() => {});
  return {
    lines,
    ended,
    firstLine,
    async kill(signal = 'SIGKILL') {
      child.kill(signal);
      await ended;
    },
  };
}
