/** The files of docker/: they parse, run as nobody special, start the bin, and agree with the defaults. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse } from 'yaml';
import { readEnvironment } from '../../src/config/environment.ts';
import { loadSettings } from '../../src/config/load.ts';

const root = join(import.meta.dirname, '../..');
const text = (path: string): string => readFileSync(join(root, path), 'utf8');
const packageFile = JSON.parse(text('package.json')) as { version: string; bin: { svc: string } };
const { settings } = loadSettings({ env: {} });
const defaultPorts = [
  settings.management.listen,
  settings.gateway.listen,
  settings.gateway.controlListen,
  settings.pump.listen,
]
  .map(({ port }) => port)
  .sort();

type Instruction = { readonly name: string; readonly value: string };

/** One instruction per entry: comments gone, continued lines joined. */
const instructions = (dockerfile: string): readonly Instruction[] =>
  dockerfile
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => ({ name: line.split(' ', 1)[0] ?? '', value: line.slice(line.indexOf(' ') + 1).trim() }));

/** What runs: the part after the last FROM. */
const runtime = (all: readonly Instruction[]): readonly Instruction[] =>
  all.slice(all.findLastIndex(({ name }) => name === 'FROM'));

const lastOf = (all: readonly Instruction[], name: string): string =>
  all.findLast((one) => one.name === name)?.value ?? '';

const listOf = (all: readonly Instruction[], name: string): readonly string[] =>
  JSON.parse(lastOf(all, name)) as string[];

type Service = {
  readonly image: string;
  readonly build: { readonly context: string; readonly dockerfile: string };
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly healthcheck: { readonly test: readonly string[] };
  readonly stop_grace_period: string;
};

const dockerfile = instructions(text('docker/Dockerfile'));
const compose = parse(text('docker/compose.one.yaml')) as {
  readonly services: { readonly svc: Service };
  readonly volumes: Readonly<Record<string, unknown>>;
};
const service = compose.services.svc;

describe('docker/Dockerfile', () => {
  it('starts from named images with a tag or digest, never latest', () => {
    const images = dockerfile.filter(({ name }) => name === 'ARG').map(({ value }) => value.split('=')[1] ?? '');
    expect(images).to.have.length(2);
    for (const image of images) expect(image).to.match(/^[a-z0-9./-]+(:(?!latest$)[a-z0-9.-]+|@sha256:[0-9a-f]{64})$/);
    expect(images[1]).to.match(/distroless\/nodejs24-/);
    const stages = dockerfile.filter(({ name }) => name === 'FROM').map(({ value }) => value);
    expect(stages).to.deep.equal([`\${BUILD_IMAGE} AS build`, `\${RUNTIME_IMAGE}`]);
  });

  it('installs from the lock file and builds', () => {
    const runs = dockerfile
      .filter(({ name }) => name === 'RUN')
      .map(({ value }) => value)
      .join('\n');
    expect(runs)
      .to.match(/npm ci/)
      .and.match(/npm run build/)
      .and.match(/npm prune --omit=dev/);
    expect(runs).not.to.match(/npm (i|install)\b/);
  });

  it('runs the bin of the package as 10001, with /data as the only thing that is its own', () => {
    const last = runtime(dockerfile);
    expect(listOf(last, 'ENTRYPOINT')).to.deep.equal(['/nodejs/bin/node', `/app/${packageFile.bin.svc}`]);
    expect(existsSync(join(root, packageFile.bin.svc))).to.equal(true);
    expect(lastOf(last, 'USER')).to.equal('10001:10001');
    expect(lastOf(last, 'VOLUME')).to.equal('/data');
    const owned = last.filter(({ name, value }) => name === 'COPY' && value.includes('--chown'));
    expect(owned.map(({ value }) => value.split(' ').at(-1))).to.deep.equal(['/data']);
    expect(last.map(({ name }) => name)).not.to.include.members(['RUN']);
  });

  it('copies everything that the published package holds and runs', () => {
    const copied = runtime(dockerfile)
      .filter(({ name }) => name === 'COPY')
      .map(({ value }) => value)
      .join('\n');
    for (const path of ['package.json', 'node_modules', 'dist', packageFile.bin.svc])
      expect(copied).to.include(`/app/${path}`);
  });

  it('exposes the default ports', () => {
    expect(lastOf(dockerfile, 'EXPOSE').split(' ').map(Number).sort()).to.deep.equal(defaultPorts);
  });
});

describe('docker/compose.one.yaml', () => {
  it('builds this version from this Dockerfile', () => {
    expect(service.image).to.equal(`svc:${packageFile.version}`);
    expect(existsSync(join(root, 'docker', service.build.context, service.build.dockerfile))).to.equal(true);
  });

  it('sets only variables that are settings', () => {
    const { warnings, problems, assignments } = readEnvironment(service.environment, {});
    expect({ warnings, problems }).to.deep.equal({ warnings: [], problems: [] });
    expect(assignments).to.have.length(Object.keys(service.environment).length);
    expect(() => loadSettings({ env: service.environment })).not.to.throw();
  });

  it('publishes the default ports, all but the gateway on loopback', () => {
    const inside = service.ports.map((port) => Number(port.split(':').at(-1)));
    expect(inside.sort()).to.deep.equal(defaultPorts);
    const open = service.ports.filter((port) => !port.startsWith('127.0.0.1:'));
    expect(open).to.deep.equal(['8080:8080']);
    const listening = loadSettings({ env: service.environment }).settings;
    expect(
      [listening.management.listen, listening.gateway.controlListen, listening.pump.listen].map(({ host }) => host),
    ).to.deep.equal(['0.0.0.0', '0.0.0.0', '0.0.0.0']);
  });

  it('runs without rights it does not need and keeps its data in a volume', () => {
    expect(service).to.deep.include({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    expect(service.volumes).to.deep.equal(['data:/data']);
    expect(compose.volumes).to.have.property('data');
    expect(service.command).to.deep.equal(listOf(dockerfile, 'CMD'));
  });

  it('gives a stop more time than the process takes', () => {
    const { gracefulShutdownDelayMs, gracefulShutdownTimeoutMs } = settings.gateway;
    const grace = Number(/^(\d+)s$/.exec(service.stop_grace_period)?.[1]) * 1000;
    expect(grace).to.be.above(gracefulShutdownDelayMs + gracefulShutdownTimeoutMs + 10_000);
  });

  for (const [status, code] of [
    [200, 0],
    [503, 1],
  ] as const) {
    it(`has a health check that answers ${code} when the gateway answers ${status}`, async () => {
      const server = createServer((request, response) => {
        response.writeHead(request.url === '/readyz' ? status : 404).end();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      try {
        const [, node, ...args] = service.healthcheck.test;
        expect(node).to.equal(listOf(dockerfile, 'ENTRYPOINT')[0]);
        const local = args.map((arg) => arg.replace(':8081/', `:${(server.address() as AddressInfo).port}/`));
        const ended = await promisify(execFile)(process.execPath, local).then(
          () => 0,
          (error: { code: number }) => error.code,
        );
        expect(ended).to.equal(code);
      } finally {
        server.close();
      }
    });
  }
});

describe('the files of docker/', () => {
  it('hold no secret', () => {
    for (const name of readdirSync(join(root, 'docker'))) {
      const settingsText = text(`docker/${name}`).replaceAll(/^\s*#.*$/gm, '');
      expect(settingsText, name).not.to.match(/(TOKEN|SECRET|PASSWORD|PRIVATE[_ ]KEY)\S*\s*[:=]\s*\S/i);
    }
  });
});
