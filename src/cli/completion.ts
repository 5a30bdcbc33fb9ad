/** `svc completion`: scripts for shells, and the words that fit where the cursor stands; names come from the server. */
import type { Command, Option } from 'commander';
import { nearestName } from '../../domain/errors.ts';
import { connect } from './connection.ts';
import { UsageError } from './failure.ts';
import type { Terminal } from './terminal.ts';

/** The tree of commands in which the named ones are whole. */
type ProgramFor = (words: readonly string[]) => Promise<Command>;

const scripts: Readonly<Record<string, string>> = {
  bash: `# svc: source <(svc completion bash)
_svc() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(svc completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _svc svc
`,
  zsh: `#compdef svc
# svc: source <(svc completion zsh)
_svc() {
  local -a found
  found=("\${(@f)$(svc completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _svc svc
`,
  fish: `# svc: svc completion fish | source
complete -c svc -a '(svc completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
};

export function completion(command: Command, terminal: Terminal, programFor: ProgramFor): void {
  command.addHelpText('before', 'Example:\n  source <(svc completion bash)\n');
  for (const [shell, script] of Object.entries(scripts)) {
    command
      .command(shell)
      .description(`the script for ${shell}`)
      .action(() => terminal.printRaw(script));
  }
  command
    .command('words', { hidden: true })
    .argument('[word...]')
    .action(async (words: readonly string[]) => {
      for (const word of await candidates(terminal, programFor, words)) terminal.print(word);
    });
  command.on('command:*', ([name = '']: readonly string[]) => {
    const near = nearestName(name, Object.keys(scripts));
    throw new UsageError(`there is no script for ${name}${near ? `, did you mean ${near}?` : ''}`);
  });
}

async function candidates(
  terminal: Terminal,
  programFor: ProgramFor,
  words: readonly string[],
): Promise<readonly string[]> {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const { command, given, open } = walked(await programFor(before), before);
  const fits = (names: readonly string[]): readonly string[] =>
    names.filter((name) => name.startsWith(current)).toSorted();
  if (open) return fits(open.argChoices ?? (await listed(terminal, optionSources[open.long ?? ''])));
  if (current.startsWith('-')) {
    return fits([...command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : [])), '--help']);
  }
  const commands = command.commands.filter((one) => !isHidden(one)).map((one) => one.name());
  if (commands.length > 0) return fits(commands);
  return fits(await namesFor(terminal, command, given));
}

/** Commander tells it to its help only. */
const isHidden = (command: Command): boolean => (command as unknown as { readonly _hidden?: boolean })._hidden === true;

type Walked = { readonly command: Command; readonly given: number; readonly open: Option | undefined };

/** The command at the end of the words, how many of its arguments are given, and the flag whose value comes next. */
function walked(program: Command, words: readonly string[]): Walked {
  let command = program;
  let given = 0;
  let open: Option | undefined;
  for (const word of words) {
    if (open) {
      open = undefined;
      continue;
    }
    if (word.startsWith('-')) {
      const option = command.options.find(({ long, short }) => word === long || word === short);
      open = option && (option.required || option.optional) && !word.includes('=') ? option : undefined;
      continue;
    }
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next) command = next;
    else given += 1;
  }
  return { command, given, open };
}

/** A shell does not wait longer. */
const answerTimeoutMs = 1_000;

type Source = { readonly path: string; readonly list: string; readonly id: string };

const apis: Source = { path: '/api/apis?limit=500', list: 'apis', id: 'id' };

const sources: Readonly<Record<string, Source>> = {
  api: apis,
  cert: { path: '/api/certs?p=0', list: 'cert_basics', id: 'id' },
  policy: { path: '/api/policies?limit=500', list: 'policies', id: 'id' },
  key: { path: '/api/keys?limit=500', list: 'keys', id: 'key_hash' },
};

/** Of flags that name a thing. */
const optionSources: Readonly<Record<string, Source>> = {
  '--api': apis,
  '--node': { path: '/api/gateways', list: 'gateways', id: 'node' },
  '--group': { path: '/api/gateways', list: 'gateways', id: 'group' },
};

/** Ids where the first argument is one. */
function namesFor(terminal: Terminal, command: Command, given: number): Promise<readonly string[]> {
  const [argument] = command.registeredArguments;
  const isId = given === 0 && argument !== undefined && /^(id|hash)$/.test(argument.name());
  return listed(terminal, isId ? sources[command.parent?.name() ?? ''] : undefined);
}

/** A server that does not answer completes nothing. */
async function listed(terminal: Terminal, source: Source | undefined): Promise<readonly string[]> {
  if (!source) return [];
  const { path, list, id } = source;
  try {
    const client = connect(terminal, {}, answerTimeoutMs);
    const { body } = await client.get(path);
    const found = (body as Readonly<Record<string, unknown>>)[list];
    if (!Array.isArray(found)) return [];
    return [...new Set(found.map((one: Readonly<Record<string, unknown>>) => String(one[id])))];
  } catch {
    return []; // The line that is being typed is no place for a message.
  }
}
