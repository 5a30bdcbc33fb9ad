/** The process's log on pino: one JSON line per fact, a form for people on a terminal only, secrets as `***`. */
import { openSync } from 'node:fs';
import { isatty } from 'node:tty';
import pino, { type DestinationStream, type Logger } from 'pino';
import type { Log } from '../../gateway/ports.ts';
import { redact, redactText } from './redact.ts';

export type LogOptions = {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `stderr`, `stdout` or the path of a file. */
  readonly destination: string;
  /** Takes the lines instead of the destination; for tests and for callers that already own a stream. */
  readonly stream?: DestinationStream;
  /** Form for people. Default: the destination is a terminal. */
  readonly isHuman?: boolean;
  readonly isColoured?: boolean;
};

export type ProcessLog = Log & {
  /** The same log with fields on every line. */
  child(fields: Readonly<Record<string, unknown>>): ProcessLog;
  /** Lines given up because the destination was too slow. */
  dropped(): number;
  /** Everything written so far is at the destination. */
  flush(): void;
};

type Sink = { readonly stream: DestinationStream; dropped(): number; flush(): void };

/** Waiting lines may take this much memory; beyond it lines are dropped and counted, because no request waits for its log. */
const maxWaitingBytes = 8 * 2 ** 20;

export function createLog(options: LogOptions): ProcessLog {
  const sink = options.stream ? given(options.stream) : openSink(options);
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink.stream,
  );
  return wrap(logger, sink);
}

function wrap(logger: Logger, sink: Sink): ProcessLog {
  const line =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: Readonly<Record<string, unknown>>): void => {
      // Redaction costs more than the check: nothing is walked for a level that is off.
      if (logger.isLevelEnabled(level)) logger[level](fields ? redact(fields) : {}, redactText(message));
    };
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (fields) => wrap(logger.child(redact(fields)), sink),
    dropped: sink.dropped,
    flush: sink.flush,
  };
}

const given = (stream: DestinationStream): Sink => ({ stream, dropped: () => 0, flush: () => undefined });

function openSink({ destination, isHuman, isColoured }: LogOptions): Sink {
  const descriptor = descriptorOf(destination);
  if (isHuman ?? isatty(descriptor)) return given(humanStream(descriptor, isColoured ?? coloursWanted()));
  // A file is opened here, so that a wrong path stops the start instead of losing the first lines.
  const stream = pino.destination({ dest: descriptor, sync: false, maxLength: maxWaitingBytes });
  let dropped = 0;
  stream.on('drop', () => {
    dropped += 1;
  });
  return { stream, dropped: () => dropped, flush: () => stream.flushSync() };
}

function descriptorOf(destination: string): number {
  if (destination === 'stderr') return 2;
  if (destination === 'stdout') return 1;
  return openSync(destination, 'a', 0o640);
}

const coloursWanted = (): boolean => (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb';

function humanStream(descriptor: number, isColoured: boolean): DestinationStream {
  const stream = pino.destination({ dest: descriptor, sync: true });
  return { write: (line) => stream.write(humanLine(line, isColoured)) };
}

const colours: Readonly<Record<string, number>> = { debug: 90, info: 32, warn: 33, error: 31 };

/** `12:34:56.789 info  what happened  name=value …`; an error's stack stands below. */
export function humanLine(line: string, isColoured: boolean): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const paint = (code: number, text: string): string => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text);
  const { pairs, stacks } = shown(fields);
  const word = paint(colours[String(level)] ?? 0, String(level).padEnd(5));
  const head = [clockTime(String(time)), word, String(msg ?? '')].join(' ');
  const tail = pairs.length > 0 ? `  ${paint(90, pairs.join(' '))}` : '';
  return `${head}${tail}\n${stacks.map((stack) => `${stack}\n`).join('')}`;
}

const clockTime = (time: string): string => {
  const local = new Date(time);
  const two = (value: number): string => String(value).padStart(2, '0');
  const clock = [local.getHours(), local.getMinutes(), local.getSeconds()].map(two).join(':');
  return `${clock}.${String(local.getMilliseconds()).padStart(3, '0')}`;
};

function shown(fields: Readonly<Record<string, unknown>>): {
  readonly pairs: readonly string[];
  readonly stacks: readonly string[];
} {
  const stacks: string[] = [];
  const pairs = Object.entries(fields).map(([name, value]) => {
    if (typeof value !== 'object' || value === null || !('stack' in value)) return `${name}=${pairValue(value)}`;
    stacks.push(String(value.stack));
    return `${name}=${pairValue('message' in value ? value.message : undefined)}`;
  });
  return { pairs, stacks };
}

const pairValue = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : (JSON.stringify(value) ?? '');
