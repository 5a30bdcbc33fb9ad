/** The pages of the management plane: files of ours only, a strict policy, and a page for every error code. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { errorCatalogue } from '../../src/management/errors.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('the page of the management API', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());
  const open = (path: string) => fetch(`${management.url}${path}`);

  it('is served without a token, and takes nothing from elsewhere', async () => {
    const page = await open('/docs');
    expect(page.status).to.equal(200);
    expect(page.headers.get('content-type')).to.contain('text/html');
    expect(page.headers.get('content-security-policy'))
      .to.contain("default-src 'none'")
      .and.contain("script-src 'self'");
    const text = await page.text();
    const sources = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target = '']) => target);
    expect(
      sources.every((target) => target.startsWith('/')),
      sources.join(),
    ).to.equal(true);
    for (const target of sources) expect((await open(target)).status, target).to.equal(200);
    // The policy would stop both.
    expect(text).not.to.match(/<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=/);
  });

  it('is drawn by a script that parses, and that makes no markup of texts', async () => {
    const answer = await open('/docs/page.js');
    expect(answer.headers.get('content-type')).to.contain('text/javascript');
    const text = await answer.text();
    using folder = temporaryFolder('svc-page-');
    writeFileSync(folder.file('page.mjs'), text);
    execFileSync(process.execPath, ['--check', folder.file('page.mjs')]);
    expect(text).not.to.match(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|localStorage|sessionStorage/,
    );
  });

  it('takes no other file, whatever the path', async () => {
    for (const path of ['/docs/../routes.ts', '/docs/%2e%2e/routes.ts', '/docs/page.html', '/docs/..%2fapp.ts']) {
      expect((await open(path)).status, path).to.be.oneOf([401, 404]);
    }
  });

  it('says of every error code what it means, what to do, and who answers it', async () => {
    for (const [code, { title, status }] of Object.entries(errorCatalogue)) {
      const answer = await open(`/docs/problems/${code}`);
      expect(answer.status, code).to.equal(200);
      const text = await answer.text();
      expect(text).to.contain(`<code>${code}</code>`).and.contain(`Status ${status}`);
      expect(text).to.contain(title.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'));
    }
    const { headers, status } = await open('/docs/problems/%3Cscript%3E');
    expect(status).to.equal(404);
    expect(headers.get('content-type')).to.contain('application/problem+json');
  });

  it('is where the type of a problem leads', async () => {
    const { json } = await management.call('GET', '/api/nothing');
    const page = await open(String(json['type']));
    expect(page.status).to.equal(200);
    expect(await page.text()).to.contain(String(json['code']));
  });
});
