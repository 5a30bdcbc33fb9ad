/** `svc import`: an OpenAPI document or a Classic definition, from a file or an address, as a new API. */
import { basename } from 'node:path';
import type { Command } from 'commander';
import { gatewayExtension } from '../../domain/api/definition.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import { at, isObject, textAt } from '../../domain/json.ts';
import { ClientError } from '../management/client.ts';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { printDryRun } from './dry-run.ts';
import { ServerError, UsageError } from './failure.ts';
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
    readonly acceptLoss?: boolean;
    readonly dryRun?: boolean;
    readonly comment?: string;
  };

/** What is sent, and where. */
type Import = {
  readonly path: string;
  readonly body: JsonObject;
  readonly query: Readonly<Record<string, string>>;
};

export function importApi(command: Command, terminal: Terminal): void {
  withConnection(withOutput(command))
    .addHelpText(
      'before',
      'Example:\n  svc import openapi.yaml --listen-path /orders/ --upstream-url http://127.0.0.1:9000/\n  svc import https://petstore3.swagger.io/api/v3/openapi.json --authentication\n  svc import classic.json --api-id orders\n',
    )
    .argument(
      '<document>',
      'OpenAPI 3.0 or 3.1 or a Classic definition, JSON or YAML: a file, an http(s) address, or - for the standard input',
    )
    .option('--listen-path <path>', 'where it is served')
    .option('--custom-domain <host>', 'on which host')
    .option('--upstream-url <url>', 'where requests go (else the first server of the document)')
    .option('--api-id <id>', 'id of the API (else that of a Classic definition, or one is made)')
    .option('--allow-list [boolean]', 'only operations of the document are let through')
    .option('--validate-request [boolean]', 'requests are held against the document')
    .option('--mock-response [boolean]', 'operations with examples answer them')
    .option('--authentication [boolean]', 'as the security of the document says')
    .option('--security-processing-mode <mode>', 'legacy or compliant')
    .option('--accept-loss', 'a Classic definition comes without what this gateway does not offer')
    .option('--comment <text>', 'why')
    .option('--dry-run', 'say what would be made')
    .addHelpText(
      'after',
      '\nA Classic definition is stored as it comes; of the flags above --api-id, --accept-loss, --comment and --dry-run are for it. What the gateway reads otherwise than it is written, or not at all, is told on the standard error.\n',
    )
    .action((source: string, flags: Flags) => run(terminal, source, flags));
}

async function run(terminal: Terminal, source: string, flags: Flags): Promise<void> {
  const document = await readDocument(terminal, source);
  const {
    path,
    body: given,
    query: own,
  } = isClassic(document) ? classic(document, flags) : openApi(source, document, flags);
  const query = { ...own, ...(flags.dryRun ? { dryRun: 'true' } : {}) };
  const headers: Record<string, string> = {
    ...(flags.comment === undefined ? {} : { 'x-svc-comment': Buffer.from(flags.comment).toString('latin1') }),
    // With it the answer has the loss report.
    ...(isClassic(document) ? { prefer: 'return=representation' } : {}),
  };
  const request = { body: given, headers, query };
  const { body } = await inFlags(connect(terminal, flags).send('POST', path, request));
  if (isClassic(document)) tellLosses(terminal, source, at(body as JsonObject, 'Meta', 'warnings'));
  if (flags.dryRun) return printDryRun(terminal, flags, body);
  if (flags.json || flags.yaml) return printDocument(terminal, flags, body);
  const { ID: id } = body as { readonly ID?: string };
  terminal.print(String(id));
  terminal.printError(`See it with: svc api show ${id}`);
}

const given = (flags: Flags): readonly (readonly [flag: string, parameter: string, value: string])[] =>
  Object.entries(parameters).flatMap(([flag, name]) => {
    const value = flags[flag as keyof typeof parameters];
    return value === undefined ? [] : [[flag, name, String(value)] as const];
  });

function openApi(source: string, document: JsonObject, flags: Flags): Import {
  refuseOthers(source, document);
  if (flags.acceptLoss)
    throw new UsageError('--accept-loss is for Classic definitions; nothing of this document is lost');
  const query = Object.fromEntries(given(flags).map(([, name, value]) => [name, value]));
  return { path: '/api/apis/oas/import', body: document, query };
}

/** Bare, or as other products write it: below `api_definition`. */
const definitionIn = (document: JsonObject): JsonObject => {
  const { api_definition: inner } = document;
  return isObject(inner) ? inner : document;
};

const isClassic = (document: JsonObject): boolean =>
  document['openapi'] === undefined && isObject(definitionIn(document)['proxy']);

/** What a flag would set stands in the definition, but for the id, under which it is new here. */
function classic(document: JsonObject, flags: Flags): Import {
  const [other] = given(flags).filter(([flag]) => flag !== 'apiId');
  if (other)
    throw new UsageError(`${flagOf.get(other[1])} is for OpenAPI documents; a Classic definition says it itself`);
  const definition = definitionIn(document);
  return {
    path: '/api/apis',
    body: flags.apiId === undefined ? definition : { ...definition, api_id: flags.apiId },
    query: flags.acceptLoss ? { acceptLoss: 'true' } : {},
  };
}

function tellLosses(terminal: Terminal, source: string, warnings: Json | undefined): void {
  for (const warning of Array.isArray(warnings) ? warnings : []) {
    const what = (textAt(warning, 'code') ?? '').replace(/^classic_/, '');
    terminal.printError(`${source}: ${textAt(warning, 'pointer') ?? ''}: ${what}: ${textAt(warning, 'text') ?? ''}`);
  }
}

/** What the server would refuse as well, with what to do instead. */
function refuseOthers(source: string, { openapi, swagger, ...document }: JsonObject): void {
  if (document[gatewayExtension] !== undefined) {
    throw new UsageError(
      `${source} has a gateway extension (${gatewayExtension}), an import takes none; use svc apply`,
    );
  }
  if (typeof openapi === 'string' && /^3\.[01]\./.test(openapi)) return;
  const said =
    openapi === undefined && swagger === undefined
      ? 'it has no member "openapi"; a Classic definition has "proxy"'
      : `it says ${openapi === undefined ? `swagger: ${JSON.stringify(swagger)}` : `openapi: ${JSON.stringify(openapi)}`}; convert it first`;
  throw new UsageError(`${source} is no OpenAPI 3.0 or 3.1 document: ${said}`);
}

/** Refusals name parameters of the request; who typed a flag knows that. */
async function inFlags<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ServerError && error.cause instanceof ClientError)) throw error;
    const { status, code, message, problems } = error.cause;
    const told = problems.map((one) => ({
      ...one,
      pointer: one.pointer.replace(/^\/query\/(\w+)$/, (whole, name: string) => flagOf.get(name) ?? whole),
      message: withFlags(one.message),
    }));
    throw new ServerError(error.server, new ClientError(status, code, withFlags(message), told));
  }
}

const flagOf: ReadonlyMap<string, string> = new Map(
  Object.entries(parameters).map(([flag, name]) => [name, `--${flag.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`]),
);

const withFlags = (text: string): string =>
  text
    .replace(/^(\w+)(?=: )/, (name) => flagOf.get(name) ?? name)
    .replaceAll(/\bupstreamURL\b/g, flagOf.get('upstreamURL') ?? '')
    .replaceAll('acceptLoss=true', '--accept-loss');

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
