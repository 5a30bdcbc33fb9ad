/** Generated pages: the committed ones are current, and a stale one is found. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { stalePages, writePages } from '../../docs/generate.ts';
import { configKeys } from '../../src/config/keys.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = join(import.meta.dirname, '../..');

describe('generated pages', () => {
  it('are what the sources make', async () => expect(await stalePages(root)).to.deep.equal([]));

  it('are stale when missing or changed, and current once written', async () => {
    using folder = temporaryFolder();
    expect(await stalePages(folder.path)).to.include('docs/reference/configuration.md');
    await writePages(folder.path);
    expect(await stalePages(folder.path)).to.deep.equal([]);
    appendFileSync(folder.file('docs', 'reference', 'configuration.md'), 'by hand\n');
    expect(await stalePages(folder.path)).to.deep.equal(['docs/reference/configuration.md']);
  });

  it('name every key with its variable', () => {
    const page = readFileSync(join(root, 'docs/reference/configuration.md'), 'utf8');
    for (const { path, variable } of configKeys()) {
      expect(page)
        .to.include(`\`${path.replace('*', '<name>')}`)
        .and.include(`\`${variable}`);
    }
  });
});
