/** The command line: the table of commands; only the module of the one that was called is loaded. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { exitCodeOf, failureText } from './cli/failure.ts';
import { processTerminal, type Terminal } from './cli/terminal.ts';

/** Adds arguments, flags, help and action to its command. */
type Configure = (command: Command, terminal: Terminal) => void;

type Row = { readonly name: string; readonly summary: string; readonly load: () => Promise<Configure> };

const commands: readonly Row[] = [
  {
    name: 'start',
    summary: 'run management, gateway and pump',
    load: async () => (await import('./cli/start.ts')).start,
  },
  {
    name: 'apply',
    summary: 'bring objects to what files say, all or nothing',
    load: async () => (await import('./cli/apply.ts')).apply,
  },
  {
    name: 'diff',
    summary: 'what applying files would change',
    load: async () => (await import('./cli/diff.ts')).diff,
  },
  {
    name: 'plan',
    summary: 'write what applying files would do into a file',
    load: async () => (await import('./cli/plan.ts')).plan,
  },
  {
    name: 'import',
    summary: 'an OpenAPI document or a Classic definition as a new API',
    load: async () => (await import('./cli/import.ts')).importApi,
  },
  {
    name: 'export',
    summary: 'the objects of a server as files',
    load: async () => (await import('./cli/export.ts')).exportObjects,
  },
  {
    name: 'validate',
    summary: 'judge files without a server',
    load: async () => (await import('./cli/validate.ts')).validate,
  },
  { name: 'api', summary: 'APIs and their revisions', load: async () => (await import('./cli/api.ts')).api },
  {
    name: 'audit',
    summary: 'who changed what, when and why',
    load: async () => (await import('./cli/audit.ts')).audit,
  },
  {
    name: 'store',
    summary: 'log and key ring: read, back up, restore, copy to another engine, rotate',
    load: async () => (await import('./cli/store.ts')).store,
  },
  {
    name: 'projections',
    summary: 'read models: where they are, making them anew',
    load: async () => (await import('./cli/projections.ts')).projections,
  },
  { name: 'nodes', summary: 'gateways and what they run', load: async () => (await import('./cli/nodes.ts')).nodes },
  {
    name: 'wait',
    summary: 'until every gateway runs a revision',
    load: async () => (await import('./cli/wait.ts')).wait,
  },
  {
    name: 'reload',
    summary: 'gateways take anew what is no change of the configuration',
    load: async () => (await import('./cli/reload.ts')).reload,
  },
  {
    name: 'cert',
    summary: 'certificates and their private keys',
    load: async () => (await import('./cli/cert.ts')).cert,
  },
  { name: 'policy', summary: 'what keys share', load: async () => (await import('./cli/policy.ts')).policy },
  { name: 'key', summary: 'access keys', load: async () => (await import('./cli/key.ts')).key },
  {
    name: 'token',
    summary: 'the admin token; issue, list, rotate and revoke others',
    load: async () => (await import('./cli/token.ts')).token,
  },
  {
    name: 'config',
    summary: 'settings and where they came from; the configuration of all gateways at a time',
    load: async () => {
      const [{ config }, { pastConfig }] = await Promise.all([
        import('./cli/config.ts'),
        import('./cli/past-config.ts'),
      ]);
      return (command, terminal) => {
        config(command, terminal);
        pastConfig(command, terminal);
      };
    },
  },
  {
    name: 'replay',
    summary: 'a past configuration into a new gateway',
    load: async () => (await import('./cli/replay.ts')).replay,
  },
  {
    name: 'doctor',
    summary: 'looks the installation over',
    load: async () => (await import('./cli/doctor.ts')).doctor,
  },
  {
    name: 'completion',
    summary: 'scripts for bash, zsh and fish',
    load: async () => {
      const { completion } = await import('./cli/completion.ts');
      return (command, terminal) => completion(command, terminal, (words) => programFor(words, terminal));
    },
  },
];

/** Answers the exit code; nothing here ends the process, so that what is still printing gets out. */
export async function main(
  args: readonly string[] = process.argv.slice(2),
  terminal: Terminal = processTerminal(),
): Promise<number> {
  try {
    const program = await programFor(args, terminal);
    await program.parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.printError(failureText(error, args.includes('--debug')));
    return exitCodeOf(error);
  }
}

/** Every command whole, for pages and completion. */
export const wholeProgram = (terminal: Terminal): Promise<Command> =>
  programFor(
    commands.map(({ name }) => name),
    terminal,
  );

async function programFor(args: readonly string[], terminal: Terminal): Promise<Command> {
  const program = configured(new Command('svc'), terminal)
    .description('Event-sourced API gateway: management plane, gateway and analytics pump.')
    .version(packageVersion(), '--version', 'print the version')
    .addHelpText('before', 'Example:\n  svc start --demo\n  svc api list\n')
    .addHelpText('after', '\nExit codes: 0 done, 1 failure, 2 usage, 3 conflict, 4 not reachable.')
    .helpCommand('help [command]', 'full page of a command');
  for (const { name, summary, load } of commands) {
    const command = configured(program.command(name), terminal).description(summary);
    if (args.includes(name)) (await load())(command, terminal);
  }
  return program;
}

/** What every command shares; subcommands inherit it from the command they are added to. */
const configured = (command: Command, terminal: Terminal): Command =>
  command
    .exitOverride()
    .configureOutput({ writeOut: terminal.printRaw, writeErr: terminal.printErrorRaw })
    .helpOption('-h, --help', 'help for a command')
    .showHelpAfterError('(svc --help shows what there is)');

/** The folder of the package is one level above in a checkout, two above when built. */
function packageVersion(): string {
  for (const up of ['..', '../..']) {
    try {
      const text = readFileSync(join(import.meta.dirname, up, 'package.json'), 'utf8');
      return String((JSON.parse(text) as { version: unknown }).version);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return 'unknown';
}
