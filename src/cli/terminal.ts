/** What a command sees of the process: where it prints, whether people read along, variables and the working folder. */
import type { Environment } from '../config/environment.ts';

export type Terminal = {
  readonly env: Environment;
  readonly workingDirectory: string;
  /** Results go to people: tables, colour, local time. */
  readonly isInteractive: boolean;
  now(): Date;
  /** Asks a person and waits for a line; absent where nobody is there to answer. */
  readonly ask?: (question: string) => Promise<string>;
  /** A line of a result. */
  print(line: string): void;
  /** A message. */
  printError(line: string): void;
  printRaw(text: string): void;
  printErrorRaw(text: string): void;
};

export function processTerminal(): Terminal {
  // Whoever reads the result may have seen enough (`svc audit list | head`).
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const printRaw = (text: string): void => void process.stdout.write(text);
  const printErrorRaw = (text: string): void => void process.stderr.write(text);
  return {
    env: process.env,
    workingDirectory: process.cwd(),
    isInteractive: process.stdout.isTTY === true,
    now: () => new Date(),
    ...(process.stdin.isTTY === true && process.stderr.isTTY === true ? { ask } : {}),
    print: (line) => printRaw(`${line}\n`),
    printError: (line) => printErrorRaw(`${line}\n`),
    printRaw,
    printErrorRaw,
  };
}

/** On the standard error: the standard output is for results. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}
