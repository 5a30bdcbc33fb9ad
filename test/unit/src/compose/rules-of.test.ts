/** The name of the rules: the same at every start of the same code, another one when a file of them changes. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { rulesOf } from '../../../../src/compose/rules-of.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

describe('the name of the rules', () => {
  it('is that of the version and of the newest file that judges, however deep it lies', () => {
    using folder = temporaryFolder('svc-rules-');
    const put = (name: string, atS: number): void => {
      writeFileSync(folder.file(name), name);
      utimesSync(folder.file(name), atS, atS);
    };
    for (const place of ['domain/api/rules', 'gateway/http']) mkdirSync(folder.file(place), { recursive: true });
    for (const name of ['domain/api/oas.ts', 'domain/api/rules/server.ts', 'gateway/check-api.ts']) put(name, 1_000);
    const name = (version = '1.0.0'): string => rulesOf(version, folder.path);
    const first = name();
    expect(name()).to.equal(first);
    expect(name('1.0.1')).not.to.equal(first);
    const seen = new Set([first]);
    for (const [index, file] of [
      'domain/api/rules/server.ts',
      'gateway/check-api.ts',
      'domain/json-schema.ts',
    ].entries()) {
      put(file, 1_001 + index);
      expect(seen.has(name()), file).to.equal(false);
      seen.add(name());
    }
    const last = name();
    for (const other of ['domain/key.ts', 'gateway/http/server.ts']) put(other, 2_000);
    expect(name(), 'what judges nothing').to.equal(last);
  });

  it('is found where the rules of this code lie', () => {
    expect(rulesOf('1.0.0')).to.match(/^1\.0\.0 v\d+\.\d+\.\d+ [1-9]\d+ \d+(\.\d+)?$/);
  });
});
