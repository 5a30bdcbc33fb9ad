/** `svc import`: an OpenAPI document, from a file or an address, as a new API. */
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { JsonObject } from '../../domain/event.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { parsed, readInput } from './json-input.ts';
import { type OutputFlags, printDocument, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

/** Flags by the query parameter that each sets. */
const parameters = {
  listenPath: 'listenPath',
  customDomain: 'customDomain',
  upstreamUrl: 'upstreamURL',
  apiId: 'apiID',
  allowList: 'allowList',
  validateRequest: 'validateRequest',
  mockResponse: 'mockResponse',
  authentication: 'authentication',
  securityProcessingMode: 'securityProcessingMode',
} as const;

type Flags = ConnectionFlags &
  OutputFlags &
  Readonly<Partial<Record<keyof typeof parameters, string | true>>> & {
    readonly dryRun?: boolean;
    readonly comment?: string;
  };

export function importApi(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command))
    .addHelpText(
      'before',
      'Example:\n  svc import openapi.yaml --listen-path /orders/ --upstream-url http://127.0.0.1:9000/\n  svc import https://petstore3.swagger.io/api/v3/openapi.json --authentication\n',
    )
    .argument('<document>', 'OpenAPI 3.0 or 3.1, JSON or YAML: a file, an http(s) address, or - for the standard input')
    .option('--listen-path <path>', 'where it is served')
    .option('--custom-domain <host>', 'on which host')
    .option('--upstream-url <url>', 'where requests go (else the first server of the document)')
    .option('--api-id <id>', 'id of the API (else one is made)')
    .option('--allow-list [boolean]', 'only operations of the document are let through')
    .option('--validate-request [boolean]', 'requests are held against the document')
    .option('--mock-response [boolean]', 'operations with examples answer them')
    .option('--authentication [boolean]', 'as the security of the document says')
    .option('--security-processing-mode <mode>', 'legacy or compliant')
    .option('--comment <text>', 'why')
    .option('--dry-run', 'say what would be made')
    .action((source: string, flags: Flags) => run(terminal, source, flags));
}

async function run(terminal: Terminal, source: string, flags: Flags): Promise<void> {
  const document = await readDocument(terminal, source);
  const settings = Object.entries(parameters).flatMap(([flag, name]) => {
    const value = flags[flag as keyof typeof parameters];
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  const query = { ...Object.fromEntries(settings), ...(flags.dryRun ? { dryRun: 'true' } : {}) };
  const headers: Record<string, string> =
    flags.comment === undefined ? {} : { 'x-svc-comment': Buffer.from(flags.comment).toString('latin1') };
  const { body } = await connect(terminal, flags).send('POST', '/api/apis/oas/import', {
    body: document,
    headers,
    query,
  });
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, body);
  const { ID: id } = body as { readonly ID?: string };
  terminal.print(String(id));
  terminal.printError(`See it with: svc api show ${id}`);
}

const readTimeoutMs = 30_000;
const maxBytes = 16 * 1024 * 1024;

async function readDocument(terminal: Terminal, source: string): Promise<JsonObject> {
  if (!/^https?:\/\//.test(source)) return parsed(readInput(terminal, source), source === '-' ? '-' : basename(source));
  let response: Response;
  try {
    response = await fetch(source, { signal: AbortSignal.timeout(readTimeoutMs) });
  } catch (error) {
    throw new UsageError(`${source} cannot be read: ${String((error as Error).cause ?? error)}`);
  }
  if (!response.ok) throw new UsageError(`${source} answers ${response.status}`);
  return parsed(await bounded(source, response), source);
}

async function bounded(source: string, { body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new UsageError(`${source} is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
