/** Where the bin keeps what Node has compiled: in a folder of the user's own, or nowhere. */
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../support/temporary.ts';

const bin = join(import.meta.dirname, '../../src/bin.js');

function version(env: Readonly<Record<string, string>>, cwd: string) {
  const { PATH = '' } = process.env;
  const run = spawnSync(process.execPath, [bin, '--version'], { encoding: 'utf8', env: { PATH, ...env }, cwd });
  return { code: run.status, printed: run.stdout.trim(), error: run.stderr };
}

describe('what the bin has compiled', () => {
  it('is kept where only the user writes, in the cache folder or under the home', () => {
    using folder = temporaryFolder();
    for (const [env, place] of [
      [{ XDG_CACHE_HOME: folder.file('caches') }, ['caches', 'svc']],
      [{ HOME: folder.path }, ['.cache', 'svc']],
    ] as const) {
      expect(version(env, folder.path)).to.include({ code: 0, error: '' });
      expect(readdirSync(folder.file(...place))).to.have.length.above(0);
      expect(statSync(folder.file(...place)).mode & 0o777).to.equal(0o700);
    }
  });

  it('is kept nowhere when there is no such folder', () => {
    using folder = temporaryFolder();
    for (const env of [{ HOME: '' }, { HOME: folder.file('not', 'there') }, { XDG_CACHE_HOME: 'relative' }]) {
      expect(version(env, folder.path)).to.include({ code: 0, error: '' });
    }
    expect(readdirSync(folder.path)).to.deep.equal([]);
  });
});
