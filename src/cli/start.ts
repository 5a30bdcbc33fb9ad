/** `svc start`: reads the configuration, starts the roles, and stops them when the process is asked to end. */
import { type Command, InvalidArgumentError } from 'commander';
import { nearestName } from '../../domain/errors.ts';
import { changedKeys } from '../config/changed-keys.ts';
import { loadSettings } from '../config/load.ts';
import { createLog, type ProcessLog } from '../telemetry/log.ts';
import { collect, type SettingsFlags, settingsFrom, withSettings } from './settings-flags.ts';
import type { Terminal } from './terminal.ts';

const roles = ['management', 'gateway', 'pump'] as const;

type Role = (typeof roles)[number];

type StartFlags = SettingsFlags & {
  readonly role?: readonly Role[];
  readonly demo?: boolean;
  readonly configSeed?: string;
};

export function start(command: Command, terminal: Terminal): void {
  withSettings(command)
    .addHelpText('before', 'Example:\n  svc start --demo\n  svc start --config svc.yaml --data /var/lib/svc\n')
    .option('--role <role>', `one of ${roles.join(', ')}; repeatable; all by default`, readRole)
    .option('--config-seed <place>', 'file or address of a signed snapshot, for a gateway that has none yet')
    .option('--demo', 'with a sample upstream, and a sample API at the first start')
    .action((flags: StartFlags) => run(terminal, flags, command.parent?.version() ?? ''));
}

function readRole(text: string, before: readonly string[] | undefined): readonly string[] {
  if ((roles as readonly string[]).includes(text)) return collect(text, before);
  const near = nearestName(text, roles);
  throw new InvalidArgumentError(near ? `Did you mean ${near}?` : `Roles are ${roles.join(', ')}.`);
}

async function run(terminal: Terminal, flags: StartFlags, version: string): Promise<void> {
  const options = settingsFrom(terminal, withSeed(flags));
  const { settings, warnings, values } = loadSettings(options);
  const log = createLog(settings.telemetry.log);
  const asked = stopAsked();
  process.on('uncaughtExceptionMonitor', (error) => {
    log.error('the process ends: an error that nothing handled', { error });
    log.flush();
  });
  try {
    for (const warning of warnings) log.warn(warning);
    const { compose } = await import('../compose/compose.ts');
    const running = await compose(settings, {
      roles: flags.role ?? roles,
      isDemo: flags.demo === true,
      version,
      log,
      announce: terminal.printError,
      reread: () => {
        const now = loadSettings(options);
        return { settings: now.settings, changed: changedKeys(values, now.values) };
      },
    });
    log.info('stops', { signal: await asked });
    await running.stop();
  } finally {
    finish(log);
  }
}

/** The flag is one key by another name. */
const withSeed = ({ configSeed, set = [], ...flags }: StartFlags): SettingsFlags =>
  configSeed === undefined ? { ...flags, set } : { ...flags, set: [...set, `gateway.config_seed=${configSeed}`] };

function finish(log: ProcessLog): void {
  if (log.dropped() > 0)
    log.warn('log lines were dropped because the destination was too slow', { lines: log.dropped() });
  log.flush();
}

/** The first signal asks for an orderly stop, also while still starting; the second one ends the process at once. */
function stopAsked(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isAsked = false;
    const ask = (signal: NodeJS.Signals): void => {
      if (isAsked) process.exit(1);
      isAsked = true;
      resolve(signal);
    };
    process.on('SIGTERM', ask);
    process.on('SIGINT', ask);
  });
}
