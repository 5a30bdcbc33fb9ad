/** The name of the rules: the same at every start of the same code, another one when a file of them changes. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { rulesOf } from '../../../../src/compose/rules-of.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

describe('the name of the rules', () => {
  it('is that of the version and of the newest file, however deep it lies', () => {
    using folder = temporaryFolder('svc-rules-');
    mkdirSync(folder.file('deep/er'), { recursive: true });
    for (const name of ['one.ts', 'deep/er/two.ts']) {
      writeFileSync(folder.file(name), name);
      utimesSync(folder.file(name), 1_000, 1_000);
    }
    const first = rulesOf('1.0.0', folder.path);
    expect(rulesOf('1.0.0', folder.path)).to.equal(first);
    expect(rulesOf('1.0.1', folder.path)).not.to.equal(first);
    utimesSync(folder.file('deep/er/two.ts'), 1_001, 1_001);
    const changed = rulesOf('1.0.0', folder.path);
    expect(changed).not.to.equal(first);
    writeFileSync(folder.file('three.ts'), 'three');
    utimesSync(folder.file('three.ts'), 1_001, 1_001);
    expect(rulesOf('1.0.0', folder.path)).not.to.equal(changed);
  });

  it('is found where the rules of this code lie', () => {
    expect(rulesOf('1.0.0')).to.match(/^1\.0\.0 v\d+\.\d+\.\d+ [1-9]\d+ \d+(\.\d+)?$/);
  });
});
