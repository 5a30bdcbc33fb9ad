/** Questions before something that cannot be taken back lightly: answered by a person, or by the flag that a script gives. */
import type { Command } from 'commander';
import { UsageError } from './failure.ts';
import type { Terminal } from './terminal.ts';

export type ConfirmFlags = {
  readonly yes?: boolean;
  /** Commander's form of `--no-input`. */
  readonly input?: boolean;
};

export const withConfirm = (command: Command): Command =>
  command
    .option('-y, --yes', 'do it without asking')
    .option('--no-input', 'never ask: what needs an answer is a usage error that names its flag');

/** Throws when the answer is no, or when nobody can be asked; `flag` is what would have answered. */
export async function confirm(
  terminal: Terminal,
  flags: ConfirmFlags,
  question: string,
  { flag = '--yes', expected = 'y' }: { readonly flag?: string; readonly expected?: string } = {},
): Promise<void> {
  if (flags.input === false || !terminal.ask) throw new UsageError(`${question} Nobody can be asked: give ${flag}.`);
  const hint = expected === 'y' ? 'y/N' : `type ${expected}`;
  const answer = (await terminal.ask(`${question} (${hint}) `)).trim().toLowerCase();
  if (answer !== expected && !(expected === 'y' && answer === 'yes'))
    throw new Error('not confirmed, nothing is changed');
}
