/** The frame of the command line: help, unknown words, exit codes, and the bin itself. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { answering, svc } from '../../../support/cli.ts';
import { freePort } from '../../../support/temporary.ts';

const root = join(import.meta.dirname, '../../../..');

describe('svc', () => {
  it('begins its help with an example and ends it with the exit codes', async () => {
    const { code, out } = await svc(['--help']);
    expect(code).to.equal(0);
    expect(out).to.match(/^Example:\n {2}svc start --demo/);
    expect(out).to.match(/start .*api .*audit .*token .*config /s);
    expect(out.trim()).to.match(/Exit codes: 0 done, 1 failure, 2 usage, 3 conflict, 4 not reachable\.$/);
  });

  const commands = [
    ...['start', 'api', 'audit', 'token', 'config', 'apply', 'diff', 'plan', 'export', 'import', 'validate'],
    ...['policy', 'key', 'doctor', 'completion', 'wait', 'replay'],
  ];
  for (const command of commands) {
    it(`begins the help of ${command} with an example`, async () => {
      const { code, out } = await svc([command, '--help']);
      expect(code).to.equal(0);
      expect(out).to.match(new RegExp(`^Example:\\n {2}.*svc ${command}`));
    });
  }

  it('gives the full page of a command', async () => {
    const { code, out } = await svc(['help', 'start']);
    expect(code).to.equal(0);
    expect(out).to.include('--role <role>');
  });

  it('prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(await svc(['--version'])).to.deep.equal({ code: 0, out: `${version}\n`, err: '' });
  });

  const wrong: readonly [name: string, args: readonly string[], says: RegExp][] = [
    ['an unknown command', ['strat'], /unknown command 'strat'.*Did you mean start\?/s],
    ['an unknown subcommand', ['api', 'histroy'], /unknown command 'histroy'.*Did you mean history\?/s],
    ['an unknown flag', ['api', 'list', '--jsno'], /unknown option '--jsno'.*Did you mean --json\?/s],
    ['a missing argument', ['api', 'show'], /missing required argument 'id'/],
    ['an unknown role', ['start', '--role', 'gatway'], /Did you mean gateway\?/],
    ['a setting without a value', ['start', '--set', 'gateway.listen'], /write --set KEY=VALUE/],
    ['an unknown key', ['start', '--set', 'gateway.lisen=:1'], /did you mean gateway\.listen\?/],
    ['a configuration file that is not there', ['start', '--config', 'nowhere.yaml'], /nowhere\.yaml does not exist/],
  ];
  for (const [name, args, says] of wrong) {
    it(`answers 2 to ${name} and names what was meant`, async () => {
      const { code, out, err } = await svc(args);
      expect({ code, out }).to.deep.equal({ code: 2, out: '' });
      expect(err).to.match(says);
    });
  }

  const failures: readonly [status: number, code: number][] = [
    [400, 1],
    [404, 1],
    [409, 3],
    [412, 3],
    [503, 1],
  ];
  for (const [status, code] of failures) {
    it(`answers ${code} to a ${status} and names the server first`, async () => {
      await using server = await answering(() => ({
        status,
        body: { Status: 'Error', Message: 'because', Meta: null },
      }));
      const outcome = await svc(['api', 'list', '--url', server.url]);
      expect(outcome.code).to.equal(code);
      expect(outcome.out).to.equal('');
      expect(outcome.err).to.match(new RegExp(`^svc: ${server.url}: ${status} because`));
    });
  }

  it('says how to give a token when the server wants one', async () => {
    await using server = await answering(() => ({ status: 401, body: { Status: 'Error', Message: 'no', Meta: null } }));
    const { code, err } = await svc(['api', 'list', '--url', server.url]);
    expect(code).to.equal(1);
    expect(err).to.include('--token-file');
  });

  it('answers 4 when nobody answers', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, err } = await svc(['api', 'list', '--url', url]);
    expect(code).to.equal(4);
    expect(err).to.include(url).and.include('Is it running?');
  });

  it('shows where a failure came from with --debug only', async () => {
    const quiet = await svc(['api', 'list', '--url', 'ftp://x']);
    const loud = await svc(['api', 'list', '--url', 'ftp://x', '--debug']);
    expect(quiet.err.trim().split('\n')).to.have.length(1);
    expect(loud.err).to.match(/\n\s+at /);
  });
});

describe('the bin', () => {
  const bin = join(root, 'src/bin.js');

  it('runs the command line and hands on its exit code', async () => {
    const done = await promisify(execFile)(process.execPath, [bin, '--version']);
    expect(done.stdout).to.match(/^\d+\.\d+\.\d+\n$/);
    const failed = await promisify(execFile)(process.execPath, [bin, 'nope']).catch((error: { code: number }) => error);
    expect(failed).to.include({ code: 2 });
  });

  it('says what to do when Node is too old, and loads nothing else', async () => {
    // The version is what the bin asks for; a preloaded module lets this Node claim an older one.
    const claim = "Object.defineProperty(process.versions, 'node', { value: '20.19.0' });";
    const args = ['--import', `data:text/javascript,${encodeURIComponent(claim)}`, bin, '--version'];
    const failed = await promisify(execFile)(process.execPath, args).catch(
      (error: { code: number; stderr: string; stdout: string }) => error,
    );
    expect(failed).to.include({ code: 1, stdout: '' });
    expect(failed.stderr).to.match(/svc needs Node 24\.7 or newer; this is Node 20\.19\.0/);
  });
});
