/** The log: one JSON line per fact, no secret in any of them, a form for people. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { createLog, humanLine, type LogOptions, type ProcessLog } from '../../../../src/telemetry/log.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

type Line = Record<string, unknown>;

function collected(options: Partial<LogOptions> = {}): {
  readonly log: ProcessLog;
  readonly lines: () => Line[];
  readonly text: () => string;
} {
  const written: string[] = [];
  const log = createLog({
    level: 'debug',
    destination: 'stderr',
    stream: { write: (line) => void written.push(line) },
    ...options,
  });
  return { log, lines: () => written.map((line) => JSON.parse(line) as Line), text: () => written.join('') };
}

describe('createLog', () => {
  it('writes time, level, message and fields as one JSON line', () => {
    const { log, lines, text } = collected();
    log.info('listens', { port: 8080, position: 12n });
    const [line] = lines();
    expect(line).to.include({ level: 'info', msg: 'listens', port: 8080, position: '12' });
    expect(line?.['time']).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(text().match(/\n/g)).to.have.length(1);
  });

  it('leaves out what is below its level', () => {
    const { log, lines } = collected({ level: 'warn' });
    log.debug('a');
    log.info('b');
    log.warn('c');
    log.error('d');
    expect(lines().map(({ msg }) => msg)).to.deep.equal(['c', 'd']);
  });

  it('carries the fields of a child on every line, over generations', () => {
    const { log, lines } = collected();
    log.child({ role: 'gateway' }).child({ node: 'n1' }).warn('late', { ms: 3 });
    expect(lines()[0]).to.include({ role: 'gateway', node: 'n1', ms: 3, msg: 'late' });
  });

  it('shows an error with its code, cause and stack', () => {
    const { log, lines } = collected();
    log.error('failed', { error: Object.assign(new Error('outer', { cause: new Error('inner') }), { code: 'EX' }) });
    const error = lines()[0]?.['error'] as Line;
    expect(error).to.include({ type: 'Error', message: 'outer', code: 'EX' });
    expect((error['cause'] as Line)['message']).to.equal('inner');
  });

  it('survives circles and depth', () => {
    const { log, lines } = collected();
    const circle: Record<string, unknown> = { name: 'a' };
    circle['self'] = circle;
    log.info('round', { circle });
    expect(lines()[0]?.['circle']).to.deep.equal({ name: 'a', self: '…' });
  });

  it('writes to a file, all of it once flushed', async () => {
    using folder = temporaryFolder();
    const log = createLog({ level: 'info', destination: folder.file('svc.log') });
    for (let n = 0; n < 100; n++) log.info('line', { n });
    log.flush();
    const lines = readFileSync(folder.file('svc.log'), 'utf8').trim().split('\n');
    expect(lines).to.have.length(100);
    expect(log.dropped()).to.equal(0);
  });

  it('stops the start when its file cannot be opened', () => {
    using folder = temporaryFolder();
    expect(() => createLog({ level: 'info', destination: folder.file('no', 'such', 'svc.log') })).to.throw(/ENOENT/);
  });
});

describe('redaction', () => {
  const secret = 'q7Zp2xLm9Vb4';
  const places: readonly [name: string, fields: Record<string, unknown>][] = [
    ['authorization', { authorization: secret }],
    ['a header object', { headers: { 'Proxy-Authorization': secret } }],
    ['cookies', { request: { headers: { cookie: `a=${secret}`, 'set-cookie': [`b=${secret}`] } } }],
    ['a raw header list', { headers: ['accept', '*/*', 'Authorization', secret] }],
    ['a token field', { bootstrapToken: secret, control_secret: secret, 'x-api-key': secret }],
    ['a password in an address', { url: `redis://user:${secret}@host:6379/0` }],
    ['a scheme inside a text', { note: `sent Bearer ${secret}` }],
    ['an error message', { error: new Error(`refused: Basic ${secret}==`) }],
    ['a private key', { note: `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----` }],
    ['a management token in a path', { path: `/api/tokens/svct_ci_${secret}${'x'.repeat(31)}` }],
    ['an access key of somebody’s own in a path', { path: `/api/keys/${secret}` }],
    ['an access key in a path that nobody serves', { path: `//api//keys/${secret}/rotate` }],
    ['an access key in a path, encoded', { path: `/API/Keys/%73vck_${secret}/rotate` }],
    ['a map', { headers: new Map([['authorization', secret]]) }],
  ];
  for (const [name, fields] of places) {
    it(`hides ${name}`, () => {
      const { log, text } = collected();
      log.info('request', fields);
      log.child(fields).info('child');
      expect(text()).to.include('***').and.not.include(secret);
    });
  }

  it('hides a credential in the message itself', () => {
    const { log, text } = collected();
    log.warn(`called with Bearer ${secret}`);
    expect(text()).not.to.include(secret);
  });

  it('hides a secret at any depth that is shown', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'request', 'x'), { maxLength: 12 }),
        fc.constantFrom('token', 'Cookie', 'client_secret'),
        (path, name) => {
          const fields = path.reduceRight<Record<string, unknown>>((inner, key) => ({ [key]: inner }), {
            [name]: secret,
          });
          const { log, text } = collected();
          log.info('deep', fields);
          expect(text()).not.to.include(secret);
        },
      ),
    );
  });

  it('leaves what only sounds like one', () => {
    const { log, lines } = collected();
    const paths = ['/api/keys', `/api/keys/${'ab'.repeat(32)}/rotate`, '/api/keys/preview', '/keys/abc'];
    log.info('fine', { paths });
    expect(lines().pop()?.['paths']).to.deep.equal(paths);
    log.info('fine', { token_id: 't1', tokens: 3, key: 'ab12cd34', cookiesSeen: 2 });
    expect(lines().pop()).to.include({ token_id: 't1', tokens: 3, key: 'ab12cd34', cookiesSeen: 2 });
  });
});

describe('humanLine', () => {
  const line = JSON.stringify({
    level: 'warn',
    time: '2026-01-02T03:04:05.678Z',
    role: 'pump',
    msg: 'sink is slow',
    text: 'two words',
    error: { message: 'late', stack: 'Error: late\n    at x' },
  });

  it('puts time, level and message first, then pairs, then the stack', () => {
    expect(humanLine(line, false)).to.match(
      /^\d\d:\d\d:05\.678 warn {2}sink is slow {2}role=pump text="two words" error=late\nError: late\n {4}at x\n$/,
    );
  });

  it('has colour only when wanted', () => {
    expect(humanLine(line, true)).to.include('\u001b[33m');
    expect(humanLine(line, false)).not.to.include('\u001b');
  });
});
