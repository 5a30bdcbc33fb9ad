/** How results are printed: a table for people, stable lines for programs, JSON or YAML on request. */
import type { Command } from 'commander';
import type { Terminal } from './terminal.ts';

export type OutputFlags = {
  readonly json?: boolean;
  readonly yaml?: boolean;
  readonly plain?: boolean;
  /** Commander's form of `--no-color`. */
  readonly color?: boolean;
};

export type Column<T> = { readonly title: string; readonly cell: (item: T) => unknown };

export const withOutput = (command: Command): Command =>
  command
    .option('--json', 'print JSON')
    .option('--yaml', 'print YAML')
    .option('--plain', 'print one line per row, columns separated by tabs, no titles')
    .option('--no-color', 'print without colour (also NO_COLOR, TERM=dumb)')
    .option('--debug', 'print where a failure came from');

/** People know a SHA-256 by its beginning; programs get all of it. */
const longHash = /\b([0-9a-f]{12})[0-9a-f]{52}\b/g;

export async function printList<T>(
  terminal: Terminal,
  flags: OutputFlags,
  items: readonly T[],
  columns: readonly Column<T>[],
): Promise<void> {
  if (flags.json || flags.yaml) return printDocument(terminal, flags, items);
  const isTable = terminal.isInteractive && !flags.plain;
  const shown = (text: string): string => (isTable ? text.replaceAll(longHash, '$1…') : text);
  const rows = items.map((item) => columns.map(({ cell }) => shown(printable(cell(item)))));
  if (!isTable) {
    for (const row of rows) terminal.print(row.join('\t'));
    return;
  }
  const titles = columns.map(({ title }) => title);
  const widths = titles.map((title, index) => Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  terminal.print(isColoured(terminal, flags) ? `\u001b[1m${line(titles)}\u001b[0m` : line(titles));
  for (const row of rows) terminal.print(line(row));
}

/** JSON unless YAML was asked for. */
export async function printDocument(terminal: Terminal, flags: OutputFlags, document: unknown): Promise<void> {
  if (!flags.yaml) return terminal.print(JSON.stringify(document, null, 2));
  const { stringify } = await import('yaml');
  terminal.print(stringify(document).trimEnd());
}

/** Local time with its offset for people, UTC for programs. */
export function printableTime(terminal: Terminal, flags: OutputFlags, time: unknown): string {
  const moment = new Date(String(time));
  if (Number.isNaN(moment.getTime())) return '';
  if (!terminal.isInteractive || flags.plain) return moment.toISOString();
  const offset = -moment.getTimezoneOffset();
  const local = new Date(moment.getTime() + offset * 60_000).toISOString().slice(0, 19).replace('T', ' ');
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  return `${local} ${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`;
}

export const isColoured = ({ env, isInteractive }: Terminal, flags: OutputFlags): boolean =>
  isInteractive && flags.color !== false && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';

/** Names and comments come from others: what would steer a terminal or break a row becomes a blank. */
function printable(value: unknown): string {
  if (value === undefined || value === null) return '';
  return harmless(Array.isArray(value) ? value.map(printable).join('; ') : String(value)).trim();
}

/** A line without what would steer a terminal. */
export const harmless = (line: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not reach a terminal
  line.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ');
