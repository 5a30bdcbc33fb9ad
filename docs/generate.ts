/** Writes the pages that are made from the sources; `--check` only compares them and answers 1 when one is stale. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ConfigKey, configKeys } from '../src/config/keys.ts';
import { configSchema, sectionVariables } from '../src/config/schema.ts';
import { type MetricRow, metricTable } from '../src/telemetry/metric-table.ts';
import { cliPage } from './cli-page.ts';
import { definitionCodesPage } from './definition-codes.ts';
import { definitionFieldsPage } from './definition-fields.ts';

type Page = { readonly path: string; readonly make: () => string | Promise<string> };

/** A generated page is a row. */
const pages: readonly Page[] = [
  { path: 'docs/reference/cli.md', make: cliPage },
  { path: 'docs/reference/definition-codes.md', make: definitionCodesPage },
  { path: 'docs/reference/definition-fields.md', make: definitionFieldsPage },
  { path: 'docs/reference/configuration.md', make: configurationPage },
  { path: 'docs/reference/metrics.md', make: metricsPage },
];

/** Paths of the pages that differ from what the sources make. */
export const stalePages = async (root: string): Promise<readonly string[]> =>
  (await changedPages(root)).map(({ path }) => path);

async function changedPages(root: string): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const made = await Promise.all(pages.map(async ({ path, make }) => ({ path, text: await make() })));
  return made.filter(({ path, text }) => contentOf(join(root, path)) !== text);
}

export async function writePages(root: string): Promise<readonly string[]> {
  const changed = await changedPages(root);
  for (const { path, text } of changed) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return changed.map(({ path }) => path);
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // A page that is not there yet is as stale as a wrong one.
  }
}

function configurationPage(): string {
  const keys = configKeys();
  const sections = Object.keys(sectionVariables).map((section) => sectionText(section, keys));
  return `${configurationHead}\n${sections.join('\n')}`;
}

const configurationHead = `<!-- Made by \`node docs/generate.ts\` from src/config/schema.ts: change it there. -->

# Configuration

One file, JSON or YAML, with the sections below: \`svc start --config svc.yaml\`. A flag (\`--set KEY=VALUE\`) wins over the environment, the environment over the file, the file over the default. All keys are read at the start; a change needs a restart.

\`\`\`yaml
management:
  listen: 127.0.0.1:3000
gateway:
  listen: 0.0.0.0:8080
pump:
  sinks:
    out: { type: stdout }
\`\`\`

- \`svc config explain KEY\` says what a key is and where its value came from; \`svc config show\` prints everything that is in effect, secrets masked; \`svc config env\` lists the variables.
- An unknown key stops the start and the nearest known one is named. An unknown variable \`SVC_<SECTION>_…\` is a warning.
- In the environment underscores below the section do not count: \`SVC_GW_MAXURLBYTES\` and \`SVC_GW_MAX_URL_BYTES\` are one key. Lists are JSON or separated by commas.
- Any text may be \`$env:NAME\` or \`$file:PATH\`: the value of that variable, or the content of that file. Secrets come in this way or from the environment, never from a flag.
- Durations: \`200ms\`, \`30s\`, \`5m\`, \`1h\`, \`7d\`. Sizes: \`64KiB\`, \`10MiB\`, \`1GB\`.
- Paths that begin with \`./data\` follow \`--data DIR\`.
`;

function sectionText(section: string, keys: readonly ConfigKey[]): string {
  const rows = keys.filter(({ path }) => path === section || path.startsWith(`${section}.`)).map(row);
  const lines = ['| key | variable | default | meaning |', '|---|---|---|---|', ...rows];
  const { description = '', properties } = configSchema.properties?.[section] ?? {};
  // A key without section says what it is in its row.
  return `## \`${section}\`\n\n${properties ? `${description}\n\n` : ''}${lines.join('\n')}\n`;
}

function row({ path, variable, schema, isFree }: ConfigKey): string {
  const cells = [
    `\`${path.replace('*', '<name>')}${isFree ? '.*' : ''}\``,
    `\`${variable}${isFree ? '_…' : ''}\``,
    shownDefault(schema.default),
    `${schema.description ?? ''}${rangeText(schema.minimum, schema.maximum, schema.type === 'integer')}`,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

const shownDefault = (value: unknown): string =>
  value === undefined
    ? '–'
    : `\`${typeof value === 'string' ? value.replace('$data', './data') : JSON.stringify(value)}\``;

const rangeText = (minimum: number | undefined, maximum: number | undefined, isCount: boolean): string =>
  isCount && minimum !== undefined ? ` From ${minimum} to ${maximum}.` : '';

function metricsPage(): string {
  const rows = Object.entries(metricTable).map(([name, row]) => metricLine(name, row));
  return `${metricsHead}\n| metric | kind | labels | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

const metricsHead = `<!-- Made by \`node docs/generate.ts\` from src/telemetry/metric-table.ts: change it there. -->

# Metrics

\`GET /metrics\` of the management listener answers Prometheus text: without token where the server listens on this machine only, else with the scope \`metrics:read\`. That of the control listener of a gateway (\`svc_config_*\`, \`svc_gateway_*\`, \`svc_cache_*\` and, with handlers of events, \`svc_webhook_*\`) is open to whoever reaches it. A series is there only for what exists: no position where positions have gaps, no progress where nothing is made anew. Beside the series below stand those of the process (\`process_*\`) and of the event loop, memory and garbage collection (\`nodejs_*\`).
`;

function metricLine(name: string, { kind, labels, help }: MetricRow): string {
  return `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ') || '–'} | ${help} |`;
}

async function run(args: readonly string[]): Promise<number> {
  const root = join(import.meta.dirname, '..');
  if (!args.includes('--check')) {
    for (const path of await writePages(root)) console.log(`wrote ${path}`);
    return 0;
  }
  const stale = await stalePages(root);
  for (const path of stale)
    console.error(`${path} is not what the sources make: run \`node docs/generate.ts\` and commit it`);
  return stale.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = await run(process.argv.slice(2));
