/** Pages: the generated ones are current, a stale one is found, and the README's commands harm no checkout. */
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

describe('the README', () => {
  it('lets no command write into a folder of the checkout', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const own = [...readme.matchAll(/^([a-z]+\/) {2,}/gm)].map(([, folder]) => folder);
    const written = [...readme.matchAll(/svc [a-z ]+-o (\S+)/g)].map(([, place]) => place);
    expect(own).to.include('gateway/');
    expect(written).to.include('objects/');
    expect(written.filter((place) => own.includes(place))).to.deep.equal([]);
  });
});
