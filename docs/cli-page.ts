/** The page of the command line, made from the table of commands: each with its arguments and own flags, common flags once. */
import type { Command, Option } from 'commander';
import type { Terminal } from '../src/cli/terminal.ts';
import { wholeProgram } from '../src/main.ts';

const head = `<!-- Made by \`node docs/generate.ts\` from the table of commands: change it in src/main.ts and src/cli. -->

# Command line

\`npx svc\` in a checkout, \`svc\` where the package is installed. \`svc COMMAND --help\` begins with an example. Results go to the standard output, everything else to the standard error.

| exit code | |
|---|---|
| 0 | done; no difference |
| 1 | failure; of \`svc diff\` also a file that cannot be read or is not valid; of \`svc wait\` a revision that a gateway refuses, or that is not everywhere in time; of \`svc reload --wait\` a gateway that has not answered in time or could not load everything |
| 2 | usage; or differences (\`svc diff\`, \`svc api diff\`, \`svc config diff\`; other tools use 1) |
| 3 | conflict: somebody else has changed it (409, 412) |
| 4 | the server does not answer within 5 s |

**Which server**: \`--url\` and \`--token-file\`; then \`SVC_URL\`, \`SVC_TOKENFILE\`, \`SVC_TOKEN\`; then \`.svc/client.json\` (\`{"url": …, "tokenFile": …}\`) in this folder or one above; then \`$XDG_CONFIG_HOME/svc/client.json\`; then \`http://127.0.0.1:3000\` with \`data/admin-token\`. The first line of an error names the server that was asked.

**Times** (\`--at\`, \`--from\`, \`--to\`): RFC 3339, a position, a span back such as \`10m\`, or \`now\`.

**Completion**: \`source <(svc completion bash)\`, the same for zsh; \`svc completion fish | source\`. Ids of APIs, certificates, policies and keys come from the server when it answers within a second.
`;

/** Told once on top; commands list the others. */
const common: readonly string[] = [
  ...['--json', '--yaml', '--plain', '--no-color', '--debug'],
  ...['--url', '--token-file', '--data', '--config', '--set', '--help'],
];

export async function cliPage(): Promise<string> {
  const program = await wholeProgram(silent);
  const commands = program.commands.filter((command) => command.name() !== 'help');
  const shared = new Map(
    commands
      .flatMap(leaves)
      .flatMap(({ options }) => options)
      .filter(({ long }) => common.includes(long ?? ''))
      .map((option) => [option.long, option]),
  );
  const flags = `## Flags of many commands\n\n${flagTable([...shared.values()])}`;
  return `${[head, flags, ...commands.map(sectionOf)].join('\n')}`;
}

const isHidden = (command: Command): boolean => (command as unknown as { readonly _hidden?: boolean })._hidden === true;

const leaves = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.filter((one) => !isHidden(one)).flatMap(leaves);

const sectionOf = (command: Command): string => {
  const parts = command.commands.length === 0 ? [] : leaves(command).map(partOf);
  const own = command.commands.length === 0 ? partOf(command) : '';
  return [`## \`svc ${command.name()}\`\n\n${sentence(command.description())}\n`, own, ...parts]
    .filter((text) => text !== '')
    .join('\n');
};

function partOf(command: Command): string {
  const options = command.options.filter(({ long, hidden }) => !hidden && !common.includes(long ?? ''));
  const isTop = command.parent?.parent === null;
  const title = isTop ? '' : `### \`${nameOf(command)}\`\n\n${sentence(command.description())}\n\n`;
  const call = `\`\`\`\n${[nameOf(command), ...command.registeredArguments.map(shown)].join(' ')}\n\`\`\`\n`;
  return `${title}${call}${options.length === 0 ? '' : `\n${flagTable(options)}`}`;
}

const nameOf = (command: Command): string => (command.parent ? `${nameOf(command.parent)} ${command.name()}` : 'svc');

const shown = (argument: Command['registeredArguments'][number]): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

const sentence = (text: string): string => (text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}.`);

function flagTable(options: readonly Option[]): string {
  const rows = options.map(({ flags, description, defaultValue, mandatory }) => {
    const absent = typeof defaultValue === 'string' ? ` Default \`${defaultValue}\`.` : mandatory ? ' Required.' : '';
    return `| \`${flags}\` | ${`${description}.${absent}`.replaceAll('|', '\\|')} |`;
  });
  return `| flag | |\n|---|---|\n${rows.join('\n')}\n`;
}

/** Nothing is printed while commands are only looked at. */
const silent: Terminal = {
  env: {},
  workingDirectory: '/',
  isInteractive: false,
  now: () => new Date(0),
  print: () => undefined,
  printError: () => undefined,
  printRaw: () => undefined,
  printErrorRaw: () => undefined,
};
