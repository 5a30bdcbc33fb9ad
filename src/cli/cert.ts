/** `svc cert`: certificates of a server: listing, importing, showing and deleting them. */
import type { Command } from 'commander';
import { type ConnectionFlags, connect, withConnection } from './connection.ts';
import { UsageError } from './failure.ts';
import { readBytes, readInput } from './json-input.ts';
import { readMoment } from './moment.ts';
import { type OutputFlags, printableTime, printDocument, printList, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = ConnectionFlags & OutputFlags;
type WriteFlags = Flags & { readonly comment?: string; readonly dryRun?: boolean };
type ListFlags = Flags & { readonly at?: string; readonly withKey?: boolean; readonly withoutKey?: boolean };
type ImportFlags = WriteFlags & { readonly name?: string; readonly passphraseFile?: string };

type Certificate = {
  readonly id: string;
  readonly name: string;
  readonly subject_cn: string;
  readonly dns_names: readonly string[];
  readonly key_type: string;
  readonly has_private: boolean;
  readonly not_after: string;
  /** Null for a public key. */
  readonly days_remaining: number | null;
  readonly used_by: number;
};

export function cert(command: Command, terminal: Terminal): void {
  command.addHelpText(
    'before',
    'Example:\n  svc cert import chain.pem key.pem --name "front door"\n  svc cert import orders.p12 --passphrase-file orders.pass\n  svc cert list\n',
  );
  leaf(command, 'list')
    .description('certificates, oldest first')
    .option('--with-key', 'those with their private key')
    .option('--without-key', 'those without')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .action((flags: ListFlags) => list(terminal, flags));
  writing(leaf(command, 'import <file...>'))
    .description('add certificates with their chains and keys, PEM or PKCS#12; - is the standard input')
    .option('--name <text>', 'what people know them by')
    .option('--passphrase-file <file>', 'of encrypted keys and PKCS#12; the first line counts')
    .action((files: readonly string[], flags: ImportFlags) => importFiles(terminal, files, flags));
  leaf(command, 'show <id>')
    .description('one certificate by its id or fingerprint, its chain and who uses it, now or at a time')
    .option('--at <time>', 'RFC 3339, a position, or a span back such as 10m')
    .action((id: string, flags: Flags & { readonly at?: string }) => show(terminal, id, flags));
  writing(leaf(command, 'delete <id>'))
    .description('delete a certificate and its private key')
    .option('--force', 'although it is used: what names it then refuses')
    .action((id: string, flags: WriteFlags & { readonly force?: boolean }) => remove(terminal, id, flags));
}

const leaf = (command: Command, name: string): Command => withConnection(withOutput(command.command(name)));
const writing = (command: Command): Command =>
  command.option('--comment <text>', 'why').option('--dry-run', 'everything but the change');

const path = (id: string): string => `/api/certs/${encodeURIComponent(id)}`;

const momentOf = (terminal: Terminal, at: string | undefined): Readonly<Record<string, string>> =>
  at === undefined ? {} : { at: readMoment(at, '--at', terminal.now()) };

const pageSize = 500;

async function list(terminal: Terminal, flags: ListFlags): Promise<void> {
  const { withKey, withoutKey } = flags;
  if (withKey && withoutKey) throw new UsageError('give --with-key or --without-key, not both');
  const filter = withKey ? 'with_pk' : withoutKey ? 'without_pk' : 'omit';
  const client = connect(terminal, flags);
  const query = { mode: 'detailed', filter, page_size: pageSize, ...momentOf(terminal, flags.at) };
  const found: Certificate[] = [];
  for (let [p, pages] = [1, 1]; p <= pages; p++) {
    const { body } = await client.get('/api/certs', { ...query, p });
    const page = body as { readonly cert_basics: readonly Certificate[]; readonly pages: number };
    found.push(...page.cert_basics);
    pages = page.pages;
  }
  await printList(terminal, flags, found, [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'SUBJECT', cell: (one) => one.subject_cn },
    { title: 'DNS NAMES', cell: (one) => one.dns_names.join(', ') },
    { title: 'TYPE', cell: (one) => one.key_type },
    { title: 'KEY', cell: (one) => (one.has_private ? 'yes' : 'no') },
    { title: 'ENDS', cell: (one) => (hasEnd(one) ? printableTime(terminal, flags, one.not_after) : 'never') },
    { title: 'DAYS', cell: (one) => one.days_remaining ?? '' },
    { title: 'USED BY', cell: (one) => one.used_by },
  ]);
}

const hasEnd = (certificate: Certificate): boolean => certificate.days_remaining !== null;

type Added = { readonly id: string; readonly message: string };
type ImportAnswer = Added & {
  readonly results?: readonly Added[];
  readonly warnings?: readonly { readonly text: string }[];
};

/** All files are one upload, so that a key finds its certificate. Ids alone go to the standard output. */
async function importFiles(terminal: Terminal, files: readonly string[], flags: ImportFlags): Promise<void> {
  const { name, passphraseFile } = flags;
  if (files.filter((file) => file === '-').length > 1) throw new UsageError('the standard input can be read once');
  if (passphraseFile === '-' && files.includes('-')) throw new UsageError('the standard input can be read once');
  const line = Buffer.from('\n');
  const file = Buffer.concat(files.flatMap((file) => [readBytes(terminal, file), ...(files.length > 1 ? [line] : [])]));
  const passphrase = passphraseFile === undefined ? undefined : firstLine(readInput(terminal, passphraseFile));
  const { query, headers } = requestOf(flags);
  const { body, type } = await formOf(file, { name, passphrase });
  const request = { body, query, headers: { ...headers, 'content-type': type } };
  const answer = await connect(terminal, flags).send('POST', '/api/certs', request);
  const added = answer.body as ImportAnswer;
  for (const { text } of added.warnings ?? []) terminal.printError(`warning: ${text}`);
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, added);
  const isUnchanged = answer.headers.get('x-svc-unchanged') === 'true';
  for (const { id, message } of added.results ?? [added]) {
    terminal.print(id);
    terminal.printError(isUnchanged ? `${id}: is there already` : `${id}: ${message}`);
  }
}

/** A form carries every character of a passphrase; a header would lose spaces at its ends. */
async function formOf(file: Buffer, fields: Readonly<Record<string, string | undefined>>) {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(file)]), 'upload');
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value);
  const encoded = new Response(form);
  const type = encoded.headers.get('content-type') ?? '';
  return { type, body: new Uint8Array(await encoded.arrayBuffer()) };
}

const firstLine = (text: string): string => text.split(/\r?\n/, 1)[0] ?? '';

const requestOf = ({ comment, dryRun }: WriteFlags) => ({
  query: dryRun ? { dryRun: 'true' } : {},
  headers: comment === undefined ? {} : { 'x-svc-comment': Buffer.from(comment).toString('latin1') },
});

async function show(terminal: Terminal, id: string, flags: Flags & { readonly at?: string }): Promise<void> {
  const { body } = await connect(terminal, flags).get(path(id), momentOf(terminal, flags.at));
  await printDocument(terminal, flags, body);
}

async function remove(terminal: Terminal, id: string, flags: WriteFlags & { readonly force?: boolean }): Promise<void> {
  const { query, headers } = requestOf(flags);
  const request = { headers, query: { ...query, ...(flags.force ? { force: 'true' } : {}) } };
  const { body } = await connect(terminal, flags).send('DELETE', path(id), request);
  if (flags.json || flags.yaml || flags.dryRun) return printDocument(terminal, flags, body);
  terminal.print(`certificate ${id} is deleted`);
}
