/** `svc validate`: judges declarative files without a server, by the rules of the command, with every problem at its line. */
import type { Command } from 'commander';
import { createCheckObject } from '../management/apply/check.ts';
import { type Declared, placeOf, readSet, shownName } from './declared.ts';
import { harmless, type OutputFlags, printDocument, withOutput } from './output.ts';
import type { Terminal } from './terminal.ts';

type Flags = OutputFlags & { readonly strict?: boolean };

type Finding = {
  readonly place: string;
  readonly object: string;
  readonly level: 'error' | 'warning';
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
};

export function validate(command: Command, terminal: Terminal): void {
  withOutput(command)
    .addHelpText('before', 'Example:\n  svc validate objects/\n  svc validate --strict orders.yaml\n')
    .argument('<file...>', 'files or folders with objects, JSON or YAML; - is the standard input')
    .option('--strict', 'unknown keys of definitions are errors')
    .action((files: readonly string[], flags: Flags) => run(terminal, files, flags));
}

async function run(terminal: Terminal, files: readonly string[], flags: Flags): Promise<void> {
  const declared = readSet(terminal, files);
  const findings = await findingsOf(declared, terminal, flags.strict === true);
  const errors = findings.filter(({ level }) => level === 'error').length;
  if (flags.json || flags.yaml) await printDocument(terminal, flags, { objects: declared.length, findings });
  else {
    for (const { place, level, object, pointer, message } of findings) {
      terminal.print(harmless(`${place}: ${level}: ${object}: ${pointer === '' ? '' : `${pointer}: `}${message}`));
    }
    terminal.printError(
      `${counted(declared.length, 'object')}, ${counted(errors, 'error')}, ${counted(findings.length - errors, 'warning')}`,
    );
  }
  if (errors > 0) throw new Error('not valid');
}

/** What to do about it. */
const hints: Readonly<Record<string, string>> = {
  extension_missing: ' svc import makes an API of a plain OpenAPI document.',
};

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

async function findingsOf(
  declared: readonly Declared[],
  terminal: Terminal,
  isStrict: boolean,
): Promise<readonly Finding[]> {
  const check = createCheckObject({ isStrict, now: terminal.now });
  const findings: Finding[] = [];
  const first = new Map<string, string>();
  for (const one of declared) {
    const { problems, warnings } = await check(one.object);
    const object = shownName(one);
    const finding = (level: Finding['level'], pointer: string, code: string, message: string): Finding => ({
      ...{ place: placeOf(one, pointer), object, level, pointer, code, message },
    });
    findings.push(
      ...problems.map(({ pointer, code, message }) =>
        finding('error', pointer, code, `${message}${hints[code] ?? ''}`),
      ),
      ...warnings.map(({ pointer, code, text }) => finding('warning', pointer, code, text)),
    );
    const before = first.get(object);
    if (before !== undefined) findings.push(finding('error', '/id', 'repeated', `stands at ${before} already`));
    // A certificate may leave its id out.
    else if (object.includes(' ')) first.set(object, placeOf(one, ''));
  }
  return findings;
}
