/** What our full chain costs: requests per CPU second of a proxy process, against a bare proxy on the same libraries in the same run. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { autocannon } from '../support/autocannon.ts';

type Figures = { readonly name: string; readonly figures: Readonly<Record<string, number | string>> };

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);

type Started = { readonly url: string; readonly child: ChildProcess; readonly sent?: Readonly<Record<string, string>> };

async function start(name: string, args: readonly string[], execArgv: readonly string[] = []): Promise<Started> {
  const child = fork(join(import.meta.dirname, '..', 'support', `${name}-process.ts`), args, {
    execArgv: [...execArgv],
  });
  const [message] = (await once(child, 'message')) as [{ url: string }];
  return { url: message.url, child };
}

/** CPU time of the process so far, user and system. */
async function cpuUs({ child }: Started): Promise<number> {
  child.send('cpu');
  const [message] = (await once(child, 'message')) as [{ cpuUs: number }];
  return message.cpuUs;
}

type Round = { readonly perSecond: number; readonly perCpuSecond: number; readonly p99: number };

/** Seven headers, as a browser or a client of a company sends them. */
const headers = {
  accept: 'application/json',
  'accept-encoding': 'gzip, br',
  'accept-language': 'en',
  'user-agent': 'bench/1',
  'x-request-id': '0190f3c2-7c4e-7000-8000-000000000000',
  origin: 'https://app.example',
};

async function measure(proxy: Started): Promise<Round> {
  const before = await cpuUs(proxy);
  const result = await autocannon({
    url: `${proxy.url}x?y=1`,
    connections: 50,
    duration: seconds,
    headers: { ...headers, ...proxy.sent },
  });
  const cpuSeconds = ((await cpuUs(proxy)) - before) / 1e6;
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx + result.errors} requests failed`);
  const total = result.requests.total;
  return { perSecond: result.requests.average, perCpuSecond: total / cpuSeconds, p99: result.latency.p99 };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

export async function run(): Promise<readonly Figures[]> {
  const upstream = await start('upstream', []);
  const profile = process.env['BENCH_PROFILE'];
  const profiled = profile ? ['--cpu-prof', '--cpu-prof-dir', profile] : [];
  const proxies = {
    bare: await start('bare-proxy', [upstream.url]),
    'bare, with the headers of the chain': await start('bare-proxy', [upstream.url, 'headers']),
    'no steps, no record': await start('gateway', [upstream.url, 'none']),
    'full chain': await start('gateway', [upstream.url, 'full'], profiled),
    'full chain, recorded in detail': await start('gateway', [upstream.url, 'detail']),
    'full chain, answered from the cache': await start('gateway', [upstream.url, 'kept']),
    'full chain, with a cache that is passed by': {
      ...(await start('gateway', [upstream.url, 'kept'])),
      sent: { range: 'bytes=0-' },
    },
    'full chain, with an access key': {
      ...(await start('gateway', [upstream.url, 'key'])),
      sent: { authorization: 'Bearer the-key-of-the-benchmark' },
    },
  };
  try {
    const results = new Map<string, Round[]>();
    // The first round warms up and does not count; the order turns, so that nobody is always last.
    for (let round = 0; round <= rounds; round++) {
      const names = Object.entries(proxies);
      for (const [name, proxy] of round % 2 === 0 ? names : names.reverse()) {
        const result = await measure(proxy);
        if (round > 0) results.set(name, [...(results.get(name) ?? []), result]);
      }
    }
    return [...results].map(([name, own]) => figuresOf(name, own, results.get('bare') ?? []));
  } finally {
    for (const { child } of [...Object.values(proxies), upstream]) child.disconnect();
  }
}

/** Ratios of the same round are compared, because the machine is not the same from round to round. */
function figuresOf(name: string, own: readonly Round[], bare: readonly Round[]): Figures {
  const ratios = own.map(({ perCpuSecond }, index) => perCpuSecond / (bare[index]?.perCpuSecond ?? Number.NaN));
  return {
    name,
    figures: {
      ratio: median(ratios),
      spread: `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
      'requests/CPU-s': Math.round(median(own.map(({ perCpuSecond }) => perCpuSecond))),
      'requests/s': Math.round(median(own.map(({ perSecond }) => perSecond))),
      'p99 ms': median(own.map(({ p99 }) => p99)),
    },
  };
}
