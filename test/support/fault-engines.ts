/** The engines that the fault checker torments, each with an address for its nodes and what can be done to it. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type FaultProxy, startProxy } from './fault-proxy.ts';
import { startKurrentDouble } from './kurrentdb-double.ts';
import { withNewSchema } from './postgres-log.ts';
import { startPostgres } from './postgres-server.ts';

export type FaultEngine = {
  readonly name: EngineName;
  /** For nodes; leads through the proxy where there is one. */
  readonly url: string;
  /** Past the proxy, for the judge. */
  readonly straightUrl: string;
  /** The log lives in this process: nodes are no processes of their own. */
  readonly isInProcess: boolean;
  readonly proxy?: FaultProxy;
  /** Crash and start of the server. */
  readonly restart?: () => Promise<void>;
  /** How large the log is now, for engines that can be told how large it may become. */
  readonly fileBytes?: () => number;
  dispose(): Promise<void>;
};

export const engineNames = ['memory', 'sqlite', 'postgres', 'kurrent'] as const;
export type EngineName = (typeof engineNames)[number];

const memory = async (): Promise<FaultEngine> => ({
  ...{ name: 'memory', url: 'memory:', straightUrl: 'memory:', isInProcess: true },
  dispose: async () => undefined,
});

async function sqlite(folder: string): Promise<FaultEngine> {
  const path = join(folder, 'events.db');
  const url = `sqlite:${path}`;
  return {
    ...{ name: 'sqlite', url, straightUrl: url, isInProcess: false },
    fileBytes: () => statSync(path).size,
    dispose: async () => undefined,
  };
}

async function postgres(): Promise<FaultEngine> {
  const running = await startPostgres();
  const { url } = withNewSchema(running.url);
  const proxy = await startProxy({ host: '127.0.0.1', port: Number(new URL(url).port) });
  return {
    ...{ name: 'postgres', url: throughProxy(url, proxy), straightUrl: url, isInProcess: false, proxy },
    async restart() {
      running.stop('immediate');
      running.start();
    },
    async dispose() {
      await proxy.dispose();
      running.dispose();
    },
  };
}

/** The double of the server, in this process. */
async function kurrent(): Promise<FaultEngine> {
  const double = await startKurrentDouble();
  const proxy = await startProxy({ host: '127.0.0.1', port: double.port });
  return {
    ...{ name: 'kurrent', url: throughProxy(double.url, proxy), straightUrl: double.url, isInProcess: false, proxy },
    restart: () => double.restart(),
    async dispose() {
      await proxy.dispose();
      await double.stop();
    },
  };
}

function throughProxy(url: string, { port }: FaultProxy): string {
  const address = new URL(url);
  address.port = String(port);
  return address.href;
}

const openers: Readonly<Record<EngineName, (folder: string) => Promise<FaultEngine>>> = {
  ...{ memory, sqlite, postgres, kurrent },
};

export const openEngine = (name: EngineName, folder: string): Promise<FaultEngine> => openers[name](folder);
