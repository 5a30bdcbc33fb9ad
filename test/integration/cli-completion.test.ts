/** Completion in real shells with the real binary: commands, flags, words of a flag, and names from the server. */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { svc } from '../support/cli.ts';
import { json, named } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const bin = join(import.meta.dirname, '../../src/bin.js');

const lines = [
  ['a command', ['rep'], ['replay']],
  ['a subcommand', ['api', 'd'], ['deactivate', 'diff']],
  ['a flag', ['apply', '--pr'], ['--prune']],
  ['the words of a flag', ['api', 'list', '--kind', 's'], ['streams']],
  ['an id from the server', ['api', 'show', 'or'], ['orders']],
  ['an id after a flag with a value', ['api', 'show', '--at', '10m', ''], ['orders', 'other']],
  ['an id as the word of a flag', ['reload', '--api', 'or'], ['orders']],
  ['no gateway where none has registered', ['reload', '--node', ''], []],
  ['nothing after the id', ['api', 'show', 'orders', ''], []],
  ['nothing that is hidden', ['completion', ''], ['bash', 'fish', 'zsh']],
] as const;

describe('completion', () => {
  let management: TestManagement;
  let folder: ReturnType<typeof temporaryFolder>;
  before(async () => {
    management = await startTestManagement();
    folder = temporaryFolder('svc-completion-');
    for (const id of ['orders', 'other'])
      await management.call('POST', '/api/apis/oas', JSON.stringify(named(id)), json);
    writeFileSync(folder.file('svc'), `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`);
    chmodSync(folder.file('svc'), 0o755);
  });
  after(async () => {
    await management[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const env = (): NodeJS.ProcessEnv => ({
    PATH: `${folder.path}:${process.env['PATH']}`,
    SVC_URL: management.url,
    SVC_TOKEN: management.token,
  });

  for (const [name, words, expected] of lines) {
    it(`finds ${name}`, async () => {
      const { out } = await svc(['completion', 'words', '--', ...words], {
        env: env() as Record<string, string>,
      });
      expect(out.trimEnd() === '' ? [] : out.trimEnd().split('\n')).to.deep.equal(expected);
    });
  }

  it('completes no name, and says nothing, when the server does not answer', async () => {
    const outcome = await svc(['completion', 'words', '--', 'api', 'show', ''], {
      env: { SVC_URL: 'http://127.0.0.1:9', SVC_TOKEN: 'x' },
    });
    expect(outcome).to.deep.equal({ code: 0, out: '', err: '' });
  });

  it('works in bash', async function () {
    if (spawnSync('bash', ['--version']).error) return this.skip();
    const typed = (words: readonly string[]): string =>
      [`COMP_WORDS=(svc ${words.map((word) => `'${word}'`).join(' ')})`, `COMP_CWORD=${words.length}`, '_svc'].join(
        '; ',
      );
    const script = `source <(svc completion bash); ${typed(['api', 'show', 'o'])}; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p svc`;
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], { env: env() });
    expect(stdout).to.equal('orders\nother\ncomplete -o default -F _svc svc\n');
  }).timeout(20_000);

  for (const shell of ['zsh', 'fish'] as const) {
    it(`is a script that ${shell} reads`, async function () {
      const { code, out } = await svc(['completion', shell]);
      expect([code, out.includes('svc completion words --')]).to.deep.equal([0, true]);
      if (spawnSync(shell, ['--version']).error) return this.skip();
      // A file: fish does not read programs from a socket, which is what the input of a child is here.
      writeFileSync(folder.file(shell), out);
      const { status, stderr } = spawnSync(shell, ['-n', folder.file(shell)], { encoding: 'utf8' });
      expect(status, stderr).to.equal(0);
    });
  }

  it('is offered for the shells there are', async () => {
    const { code, err } = await svc(['completion', 'bsh']);
    expect([code, /did you mean bash\?/i.test(err)], err).to.deep.equal([2, true]);
  });
});
