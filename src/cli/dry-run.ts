/** What a dry run would do, as its document, and in one line for people what that is for recorded requests. */
import { at, isObject } from '../../domain/json.ts';
import { type OutputFlags, printDocument } from './output.ts';
import type { Terminal } from './terminal.ts';

export async function printDryRun(terminal: Terminal, flags: OutputFlags, body: unknown): Promise<void> {
  await printDocument(terminal, flags, body);
  const traffic = isObject(body) ? at(body, 'Meta', 'traffic') : undefined;
  if (!isObject(traffic) || flags.json || flags.yaml) return;
  const count = (part: string): string => String(at(traffic, 'changed', part));
  const parts = `${count('route')} would be routed, ${count('auth')} let in, ${count('limit')} limited, ${count('validation')} validated in another way`;
  terminal.printError(`Of ${traffic['sample']} requests of the last hour ${parts}`);
}
