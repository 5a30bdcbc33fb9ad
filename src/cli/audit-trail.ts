/** `svc audit export` and `svc audit verify`: the provable history as a file, and its proof without a server. */
import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { AnchorEvent } from '../../domain/anchor.ts';
import { shortPosition } from '../../domain/event-store.ts';
import { keyIdOf } from '../stores/integrity/anchor.ts';
import { type Verification, verifyExport } from '../stores/integrity/verify-export.ts';
import { type ConnectionFlags, connect } from './connection.ts';
import { UsageError } from './failure.ts';
import { parseJson } from './json-input.ts';
import { readMoment } from './moment.ts';
import { type OutputFlags, printDocument } from './output.ts';
import type { Terminal } from './terminal.ts';

export type ExportFlags = ConnectionFlags & {
  readonly output?: string;
  readonly after?: string;
  readonly to?: string;
};

/** The file appears when it is whole. */
export async function exportTrail(terminal: Terminal, flags: ExportFlags): Promise<void> {
  const moment = (text: string | undefined, flag: string) =>
    text === undefined ? {} : { [flag]: readMoment(text, `--${flag}`, terminal.now()) };
  const query = { ...moment(flags.after, 'after'), ...moment(flags.to, 'to') };
  const lines = await connect(terminal, flags).download('/api/audit/export', query);
  if (flags.output === undefined) {
    const decoder = new TextDecoder();
    for await (const chunk of lines) terminal.printRaw(decoder.decode(chunk, { stream: true }));
    return;
  }
  const path = resolve(terminal.workingDirectory, flags.output);
  const part = `${path}.part`;
  try {
    await using file = await open(part, 'w', 0o600);
    for await (const chunk of lines) await file.writeFile(chunk);
    await file.sync();
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  await rename(part, path);
  terminal.printError(`written to ${flags.output}; check it with: svc audit verify ${flags.output}`);
}

export type VerifyFlags = OutputFlags & {
  readonly keyId?: string;
  readonly publicKey?: string;
  readonly anchors?: string;
};

/** Fails with the place of the first thing that is wrong. */
export async function verifyTrail(terminal: Terminal, given: string, flags: VerifyFlags): Promise<void> {
  const path = resolve(terminal.workingDirectory, given);
  const keyId = flags.publicKey === undefined ? flags.keyId : readKeyId(terminal, flags.publicKey);
  const result = await verifyExport(linesOf(path, given), {
    ...(keyId === undefined ? {} : { keyId }),
    ...(flags.anchors === undefined ? {} : { copies: readCopies(terminal, flags.anchors) }),
  });
  const { problem, from, to, ...counts } = result;
  if (flags.json || flags.yaml) {
    const range = { from: shortPosition(from), to: shortPosition(to) };
    const shown = problem && { ...problem, position: shortPosition(problem.position) };
    await printDocument(terminal, flags, { isGood: !problem, ...range, ...counts, ...(shown && { problem: shown }) });
  } else if (!problem) printGood(terminal, given, result, keyId !== undefined);
  if (problem) {
    const place = `position ${shortPosition(problem.position)} (line ${problem.line})`;
    throw new Error(`${given} does not verify: at ${place}: ${problem.text} [${problem.code}]`);
  }
}

function printGood(terminal: Terminal, file: string, result: Verification, isKeyGiven: boolean): void {
  const { events, streams, anchors, unanchored, from, to, keyIds } = result;
  const range = `${from === '' ? 'the beginning' : `position ${shortPosition(from)}`} to position ${shortPosition(to)}`;
  terminal.print(`${file} verifies: ${events} events of ${streams} streams, from ${range}`);
  terminal.print(`${anchors} anchors; ${unanchored} events after the last one are covered by the signed end only`);
  for (const keyId of keyIds) terminal.print(`signed by ${keyId}`);
  if (!isKeyGiven) terminal.print('Compare the key with the one you noted, or give it with --key-id or --public-key.');
}

async function* linesOf(path: string, given: string): AsyncGenerator<string> {
  // Only the line feed ends a line: texts may hold other separators.
  let rest = '';
  for await (const chunk of textOf(path, given)) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** A failure is one of the trail (exit code 1), not of the flags. */
async function* textOf(path: string, given: string): AsyncGenerator<string> {
  try {
    yield* createReadStream(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = code === 'ENOENT' ? `there is no file ${given}` : `${given} cannot be read (${code})`;
    throw new Error(text, { cause: error });
  }
}

function readKeyId(terminal: Terminal, file: string): string {
  try {
    return keyIdOf(readFileSync(resolve(terminal.workingDirectory, file), 'utf8'));
  } catch (error) {
    throw new UsageError(`--public-key: ${file} holds no public key in PEM form (${(error as Error).message})`);
  }
}

/** No copy at all is the wrong folder, or somebody took them away: it must not pass for proof. */
function readCopies(terminal: Terminal, folder: string): readonly AnchorEvent[] {
  const path = resolve(terminal.workingDirectory, folder);
  const copies = namesIn(path, folder)
    .filter((name) => /^anchor-[\d-]+\.json$/.test(name))
    .map((name) => parseJson(readFileSync(join(path, name), 'utf8'), join(folder, name)) as unknown as AnchorEvent);
  if (copies.length === 0) throw new UsageError(`--anchors: ${folder} holds no copy of an anchor (anchor-….json)`);
  return copies;
}

function namesIn(path: string, folder: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    throw new UsageError(`--anchors: ${folder} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
