/** The audit trail as a user takes it: export over HTTP, verification offline, and a copy in which one thing was changed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { svc } from '../support/cli.ts';
import { apiDocument } from '../support/documents.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

async function withChanges(): Promise<TestManagement> {
  const management = await startTestManagement();
  for (const name of ['orders', 'users', 'goods']) {
    const { status } = await management.call(
      'POST',
      `/api/apis/streams`,
      apiDocument({ info: { name }, server: { listenPath: { value: `/${name}/`, strip: true } } }),
    );
    expect(status).to.equal(200);
  }
  return management;
}

describe('audit trail', () => {
  it('an export verifies offline with the command line, and a flipped byte in it is named by position', async () => {
    await using management = await withChanges();
    using folder = temporaryFolder('svc-trail-');
    const flags = ['--url', management.url, '--token-file', folder.file('token')];
    writeFileSync(folder.file('token'), management.token);
    const options = { workingDirectory: folder.path };

    const exported = await svc(['audit', 'export', '-o', 'audit.ndjson', ...flags], options);
    expect(exported).to.deep.include({ code: 0, out: '' });
    const good = await svc(['audit', 'verify', 'audit.ndjson'], options);
    expect(good.code).to.equal(0);
    expect(good.out).to.match(/^audit\.ndjson verifies: 9 events of 6 streams, from the beginning to position 9\n/);

    const lines = readFileSync(join(folder.path, 'audit.ndjson'), 'utf8').split('\n');
    const index = lines.findIndex((line) => line.includes('users'));
    const changed = lines.with(index, String(lines[index]).replace(/users/, 'usern'));
    const line = index + 1;
    const position = String(index);
    writeFileSync(folder.file('changed.ndjson'), changed.join('\n'));
    const bad = await svc(['audit', 'verify', 'changed.ndjson'], options);
    expect(bad.code).to.equal(1);
    expect(bad.err).to.contain(`svc: changed.ndjson does not verify: at position ${position} (line ${line}): `);
    const asJson = await svc(['audit', 'verify', 'changed.ndjson', '--json'], options);
    expect(JSON.parse(asJson.out)).to.deep.include({ isGood: false });
    expect(JSON.parse(asJson.out).problem).to.deep.include({ position, line });
  });

  it('a part of the log by position and time, and what cannot be a part', async () => {
    await using management = await withChanges();
    const { text, headers } = await management.call('GET', '/api/audit/export?after=2&to=4');
    const lines = text.trim().split('\n');
    expect(headers.get('content-type')).to.contain('application/x-ndjson');
    expect(lines.map((line) => JSON.parse(line).kind)).to.deep.equal(['header', 'event', 'event', 'end']);
    const nothing = await management.call('GET', '/api/audit/export?to=2000-01-01T00:00:00Z');
    expect(nothing.text.trim().split('\n')).to.have.lengthOf(2);
    for (const query of ['after=soon', 'to=99', 'from=1']) {
      expect((await management.call('GET', `/api/audit/export?${query}`)).status, query).to.equal(400);
    }
    expect((await management.call('GET', '/api/audit/anchors')).json).to.deep.equal({ anchors: [] });
  });

  it('a key that is not the expected one is refused, and so is a file that is no export', async () => {
    await using management = await withChanges();
    using folder = temporaryFolder('svc-trail-');
    const options = { workingDirectory: folder.path };
    const { text } = await management.call('GET', '/api/audit/export');
    writeFileSync(folder.file('audit.ndjson'), text);
    const other = await svc(['audit', 'verify', 'audit.ndjson', '--key-id', '0'.repeat(64)], options);
    expect(other.code).to.equal(1);
    expect(other.err).to.contain('[anchor_signature]');
    const { keyId } = JSON.parse(String(text.trim().split('\n').at(-1)));
    expect((await svc(['audit', 'verify', 'audit.ndjson', '--key-id', keyId], options)).code).to.equal(0);
    const missing = await svc(['audit', 'verify', 'nope'], options);
    expect([missing.code, missing.err]).to.deep.equal([1, 'svc: there is no file nope\n']);
    const folderItself = await svc(['audit', 'verify', '.'], options);
    expect([folderItself.code, folderItself.err]).to.deep.equal([1, 'svc: . cannot be read (EISDIR)\n']);
    const noFolder = await svc(['audit', 'verify', 'audit.ndjson', '--anchors', 'nope'], options);
    expect([noFolder.code, noFolder.err]).to.deep.equal([2, 'svc: --anchors: nope cannot be read (ENOENT)\n']);
    const noCopies = await svc(['audit', 'verify', 'audit.ndjson', '--anchors', '.'], options);
    expect([noCopies.code, noCopies.err]).to.deep.equal([
      2,
      'svc: --anchors: . holds no copy of an anchor (anchor-….json)\n',
    ]);
    writeFileSync(folder.file('other.txt'), 'no export\n');
    expect((await svc(['audit', 'verify', 'other.txt'], options)).err).to.contain('[unreadable]');
    expect((await svc(['audit', 'verify', 'absent.txt'], options)).code).to.equal(1);
  });
});
