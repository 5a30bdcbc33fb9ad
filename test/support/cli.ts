/** Runs the command line in this process with a terminal that remembers what was printed, and a server to ask. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Terminal } from '../../src/cli/terminal.ts';
import { main } from '../../src/main.ts';

export type Outcome = { readonly code: number; readonly out: string; readonly err: string };

export type CliOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  readonly isInteractive?: boolean;
  /** What a person answers; without it nobody can be asked. */
  readonly answers?: readonly string[];
};

const cliNow = new Date('2026-03-04T05:06:07.000Z');

type TestTerminal = { readonly terminal: Terminal; printed(): { readonly out: string; readonly err: string } };

export function testTerminal(options: CliOptions = {}): TestTerminal {
  let out = '';
  let err = '';
  const printRaw = (text: string): void => {
    out += text;
  };
  const printErrorRaw = (text: string): void => {
    err += text;
  };
  const answers = [...(options.answers ?? [])];
  const ask = async (question: string): Promise<string> => {
    printErrorRaw(`${question}\n`);
    return answers.shift() ?? '';
  };
  const terminal: Terminal = {
    ...(options.answers ? { ask } : {}),
    env: options.env ?? {},
    workingDirectory: options.workingDirectory ?? '/nowhere',
    isInteractive: options.isInteractive ?? false,
    now: () => cliNow,
    print: (line) => printRaw(`${line}\n`),
    printError: (line) => printErrorRaw(`${line}\n`),
    printRaw,
    printErrorRaw,
  };
  return { terminal, printed: () => ({ out, err }) };
}

export async function svc(args: readonly string[], options: CliOptions = {}): Promise<Outcome> {
  const { terminal, printed } = testTerminal(options);
  const code = await main(args, terminal);
  return { code, ...printed() };
}

export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly token: string;
  readonly body: string;
};

export type Answer = { readonly status?: number; readonly body: unknown };

export type AskedServer = AsyncDisposable & { readonly url: string; readonly asked: readonly Asked[] };

/** A server that answers by `METHOD /path` and remembers what it was asked. */
export async function answering(answer: (asked: Asked) => Answer): Promise<AskedServer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void readAsked(request).then((one) => {
      asked.push(one);
      const { status = 200, body } = answer(one);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function readAsked(request: IncomingMessage): Promise<Asked> {
  const chunks = (await request.toArray()) as Buffer[];
  const url = new URL(request.url ?? '/', 'http://server');
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    token: request.headers.authorization ?? '',
    body: Buffer.concat(chunks).toString(),
  };
}
