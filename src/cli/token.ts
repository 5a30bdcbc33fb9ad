/** `svc token`: where the admin token of a server on this machine is, and the token itself when asked for. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { adminTokenFile, readToken } from './connection.ts';
import { UsageError } from './failure.ts';
import type { Terminal } from './terminal.ts';

export function token(command: Command, terminal: Terminal): void {
  command
    .addHelpText(
      'before',
      'Example:\n  curl -H "Authorization: Bearer $(svc token show)" http://127.0.0.1:3000/api/apis\n',
    )
    .option('--data <dir>', 'data folder of the server', './data')
    .action(() => terminal.print(tokenFile(terminal, command)));
  command
    .command('show')
    .description('print the token itself')
    .action(() => terminal.print(readToken(tokenFile(terminal, command))));
}

function tokenFile(terminal: Terminal, command: Command): string {
  const file = adminTokenFile(terminal, command.opts<{ data?: string }>().data);
  if (existsSync(file)) return file;
  throw new UsageError(
    `there is no ${file}. The first start makes it, unless management.bootstrap_token is set; name the folder with --data.`,
  );
}
