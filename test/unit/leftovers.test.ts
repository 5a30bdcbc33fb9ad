/** A run of tests that something keeps alive ends, fails, and says what it is and which test left it. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'chai';
import { reportOf } from '../support/leftovers.ts';
import { temporaryFolder } from '../support/temporary.ts';

const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
const hooks = new URL('../support/leftovers.ts', import.meta.url).pathname;

function runOf(body: string) {
  using folder = temporaryFolder();
  const file = folder.file('some.test.js');
  writeFileSync(file, body);
  const run = spawnSync(process.execPath, [mocha, '--no-config', '--require', hooks, file], {
    encoding: 'utf8',
    env: { ...process.env, SVC_TEST_PATIENCE_MS: '50' },
  });
  return { code: run.status, said: run.stdout + run.stderr };
}

describe('what tests leave behind', () => {
  it('is named with the test that left it, and fails the run', () => {
    const { code, said } = runOf(`
      it('is tidy', () => {});
      it('leaves a server', (done) => { require('node:net').createServer().listen(0, '127.0.0.1', done); });
      it('is tidy too', () => {});`);
    expect(said).to.include('3 passing').and.include('1 TCPServerWrap, from: leaves a server');
    expect(code).to.equal(1);
  });

  it('is nothing to speak of when it does not keep the process', () => {
    const { code, said } = runOf(`it('leaves a timer', () => { setTimeout(() => {}, 60_000).unref(); });`);
    expect(said).to.include('1 passing').and.not.include('something keeps');
    expect(code).to.equal(0);
  });

  it('is the last that grew, and not one that went away again', () => {
    const history = [1, 3, 1, 2, 2].map((sockets, index) => ({
      test: `test ${index}`,
      alive: new Map([['TCPSocketWrap', sockets]]),
    }));
    expect(reportOf(new Map([['TCPSocketWrap', 2]]), history)).to.match(/2 TCPSocketWrap, from: test 3$/);
    expect(reportOf(new Map([['Timeout', 1]]), history)).to.match(/1 Timeout, from: what came after the last test$/);
  });
});
