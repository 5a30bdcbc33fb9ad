/** Which server a command asks, with which token, in which order; and that no token goes to a server it was not meant for. */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { type ConnectionFlags, connect, findServer } from '../../../../src/cli/connection.ts';
import { exitCodeOf, failureText, UsageError } from '../../../../src/cli/failure.ts';
import { testTerminal } from '../../../support/cli.ts';
import { type TemporaryFolder, temporaryFolder } from '../../../support/temporary.ts';

describe('findServer', () => {
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder[Symbol.dispose]());

  const write = (path: string, text: string): string => {
    mkdirSync(dirname(folder.file(path)), { recursive: true });
    writeFileSync(folder.file(path), text);
    return folder.file(path);
  };

  const find = (flags: ConnectionFlags = {}, env: Record<string, string> = {}, below = '.') =>
    findServer(
      testTerminal({ env: { HOME: folder.file('home'), ...env }, workingDirectory: folder.file(below) }).terminal,
      flags,
    );

  it('asks this machine with its admin token by default', () => {
    write('data/admin-token', 'local\n');
    expect(find()).to.deep.equal({ url: 'http://127.0.0.1:3000', token: 'local', from: 'default' });
  });

  it('finds the token of another data folder', () => {
    write('elsewhere/admin-token', 'other\n');
    expect(find({ data: 'elsewhere' }).token).to.equal('other');
  });

  it('takes flags over the environment over client.json', () => {
    write('.svc/client.json', JSON.stringify({ url: 'http://file', token: 'from-file' }));
    expect(find()).to.include({ url: 'http://file', token: 'from-file' });
    const env = { SVC_URL: 'http://env', SVC_TOKEN: 'from-env' };
    expect(find({}, env)).to.include({ url: 'http://env', token: 'from-env', from: 'SVC_URL' });
    const tokenFile = write('token', 'from-flag\n');
    expect(find({ url: 'http://flag/', tokenFile }, env)).to.deep.equal({
      url: 'http://flag',
      token: 'from-flag',
      from: '--url',
    });
  });

  it('takes the token file of the environment over its token', () => {
    expect(find({}, { SVC_URL: 'http://env', SVC_TOKENFILE: write('t', 'a\n'), SVC_TOKEN: 'b' }).token).to.equal('a');
  });

  it('finds client.json in a folder above, then in the user folder', () => {
    write('.svc/client.json', JSON.stringify({ url: 'https://above', tokenFile: 'token' }));
    write('.svc/token', 'beside\n');
    mkdirSync(folder.file('a', 'b'), { recursive: true });
    expect(find({}, {}, 'a/b')).to.include({ url: 'https://above', token: 'beside' });
  });

  it('finds client.json of the user, XDG_CONFIG_HOME first', () => {
    write('home/.config/svc/client.json', JSON.stringify({ url: 'https://home' }));
    expect(find()).to.include({ url: 'https://home' });
    write('xdg/svc/client.json', JSON.stringify({ url: 'https://xdg' }));
    expect(find({}, { XDG_CONFIG_HOME: folder.file('xdg') })).to.include({ url: 'https://xdg' });
  });

  it('never sends the token of one server to another', () => {
    write('data/admin-token', 'local');
    write('.svc/client.json', JSON.stringify({ url: 'https://file', token: 'from-file' }));
    expect(find({ url: 'https://other.example' }).token).to.equal(undefined);
    expect(find({}, { SVC_URL: 'https://127.0.0.1.evil.example' }).token).to.equal(undefined);
    expect(find({ url: 'http://localhost:3001' }).token).to.equal('local');
  });

  const faults: readonly [name: string, file: string, says: RegExp][] = [
    ['is not JSON', '{', /client\.json:1:2: not JSON: the JSON ends too early/],
    ['has no address', '{}', /client\.json has no "url"/],
    ['has an address that is none', '{"url": "file:///etc"}', /"file:\/\/\/etc" is not an http or https address/],
    [
      'names a token file that is not there',
      '{"url": "http://x", "tokenFile": "gone"}',
      /gone cannot be read \(ENOENT\)/,
    ],
  ];
  for (const [name, text, says] of faults) {
    it(`refuses a client.json that ${name}`, () => {
      write('.svc/client.json', text);
      expect(() => find()).to.throw(UsageError, says);
    });
  }
});

describe('connect', () => {
  it('takes a server that accepts and says nothing for one that is not reachable', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    try {
      const answer = connect(testTerminal().terminal, { url }, 50).get('/api/apis');
      const error: unknown = await answer.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(exitCodeOf(error)).to.equal(4);
      expect(failureText(error, false)).to.equal(`svc: ${url}: not reachable: no answer within 50 ms. Is it running?`);
    } finally {
      silent.close();
    }
  });
});
