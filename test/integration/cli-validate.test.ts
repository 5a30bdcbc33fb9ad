/** `svc validate`: what it says of masks, which a server would take for what it has. */
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { laidOver } from '../support/classic-definitions.ts';
import { svc } from '../support/cli.ts';
import { named } from '../support/management-refusals.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { selfSigned } from '../support/test-ca.ts';

describe('svc validate', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  before(() => {
    folder = temporaryFolder('svc-validate-');
  });
  after(() => folder[Symbol.dispose]());

  it('says what to do with a plain document, and takes nothing for no objects', async () => {
    const judge = (name: string) => svc(['validate', name], { env: {}, workingDirectory: folder.path });
    writeFileSync(
      folder.file('plain.json'),
      JSON.stringify({ openapi: '3.0.3', info: { title: 'a', version: '1' }, paths: {} }),
    );
    const plain = await judge('plain.json');
    expect([plain.code, plain.out.includes('svc import makes an API of a plain OpenAPI document')]).to.deep.equal([
      1,
      true,
    ]);
    writeFileSync(folder.file('empty.yaml'), '');
    const empty = await judge('empty.yaml');
    expect([empty.code, empty.err.includes('empty.yaml holds no objects')], empty.err).to.deep.equal([2, true]);
  });

  it('tells which secrets the server has to have, and where a mask is none', async () => {
    const url = 'https://***@hooks.example/';
    const { certificate } = selfSigned('front.example');
    const document = laidOver(named('masked'), {
      info: { description: '***' },
      'x-svc-api-gateway': { upstream: { url: 'http://***@127.0.0.1:9000/' } },
    });
    const objects = [
      { kind: 'api', id: 'masked', apiKind: 'oas', document },
      { kind: 'webhook', id: 'hook', document: { url, headers: [{ name: '***', value: '***' }], secret: '***' } },
      {
        kind: 'key',
        id: 'a'.repeat(64),
        prefix: 'aaaa',
        document: { alias: '***', hmac_string: '***', hmac_enabled: true },
      },
      { kind: 'policy', id: 'gold', document: { name: '***' } },
      { kind: 'cert', document: { pem: certificate, secret: { $secret: 'k' } } },
    ];
    writeFileSync(folder.file('set.json'), JSON.stringify(objects));
    const { code, out } = await svc(['validate', '--json', 'set.json'], { env: {}, workingDirectory: folder.path });
    const { findings } = JSON.parse(out) as { findings: readonly Record<string, string>[] };
    expect([
      code,
      findings.map(({ object = '', pointer, code: found }) => `${object.split(' ')[0]} ${pointer} ${found}`),
    ]).to.deep.equal([
      0,
      [
        'api /document/x-svc-api-gateway/upstream/url secret_not_stored',
        'api /document/info/description mask_is_text',
        'webhook /document/url secret_not_stored',
        'webhook /document/headers/0/value secret_not_stored',
        'webhook /document/secret secret_not_stored',
        'webhook /document/headers/0/name mask_is_text',
        'key /document/hmac_string secret_not_stored',
        'key /document/alias mask_is_text',
        'policy /document/name mask_is_text',
        'cert /document not_yet_valid',
        'cert /document/secret secret_missing',
      ],
    ]);
    expect(new Set(findings.map(({ level }) => level))).to.deep.equal(new Set(['warning']));
  });
});
