/** What a reload takes anew of the settings of a gateway, from a real file and real references. */
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { type Reread, renewer } from '../../../../src/compose/renew.ts';
import { changedKeys } from '../../../../src/config/changed-keys.ts';
import { loadSettings } from '../../../../src/config/load.ts';
import type { Settings } from '../../../../src/config/settings.ts';
import { listLog } from '../../../support/gateway-start.ts';
import { type TemporaryFolder, temporaryFolder } from '../../../support/temporary.ts';

describe('settings at a reload', () => {
  let folder: TemporaryFolder;
  let log: ReturnType<typeof listLog>;
  let taken: Settings[];
  beforeEach(() => {
    folder = temporaryFolder('svc-renew-');
    log = listLog();
    taken = [];
    writeFileSync(folder.file('secret'), 'kingfisher-and-heron-1\n');
    write({ control_secret: `$file:${folder.file('secret')}` });
  });
  afterEach(() => folder[Symbol.dispose]());

  const write = (gateway: object): void => writeFileSync(folder.file('svc.json'), JSON.stringify({ gateway }));
  const load = () => loadSettings({ file: folder.file('svc.json'), env: {}, dataDirectory: folder.path });
  const started = (): (() => Promise<{ readonly controlSecret: string | undefined }>) => {
    const { values } = load();
    const reread: Reread = () => {
      const now = load();
      return { settings: now.settings, changed: changedKeys(values, now.values) };
    };
    return renewer(reread, { renewAccess: (settings) => void taken.push(settings) }, log);
  };

  it('are what the references lead to now', async () => {
    const renew = started();
    expect(await renew()).to.deep.equal({ controlSecret: 'kingfisher-and-heron-1' });
    writeFileSync(folder.file('secret'), 'kingfisher-and-heron-2\n');
    expect(await renew()).to.deep.equal({ controlSecret: 'kingfisher-and-heron-2' });
    expect(taken.map(({ gateway }) => gateway.controlSecret)).to.have.length(2);
    expect(log.lines).to.deep.equal([]);
  });

  it('that need a restart are named, without their values', async () => {
    const renew = started();
    write({ control_secret: `$file:${folder.file('secret')}`, listen: '127.0.0.1:8099', tags: ['eu'] });
    await renew();
    expect(log.lines).to.deep.equal([
      {
        level: 'warn',
        message: 'settings have changed that need a restart',
        fields: { keys: ['gateway.listen', 'gateway.tags'] },
      },
    ]);
  });

  it('that do not read change nothing', async () => {
    const renew = started();
    write({ control_secret: `$file:${folder.file('nothing')}` });
    const message = await renew().then(
      () => '',
      (error: Error) => error.message,
    );
    expect(message).to.contain('gateway.control_secret');
    expect(taken).to.deep.equal([]);
  });
});
