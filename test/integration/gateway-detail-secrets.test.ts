/** Records in detail of an API that adds secrets for its upstream: they stand in no record, whoever repeats them. */
import { expect } from 'chai';
import { apiFor, recordOf, startWithEcho } from '../support/gateway-start.ts';
import { httpUpstream } from '../support/upstream.ts';

const key = 'the-key-of-a-test';
const text = (base64: string): string => Buffer.from(base64, 'base64').toString();

describe('a record in detail of an API that adds secrets for its upstream', () => {
  it('has none of them, also when the upstream repeats them and the client sends much that has to be hidden', async () => {
    await using upstream = await httpUpstream((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-seen': request.headers['x-api-key'] ?? '' });
      response.end(JSON.stringify([request.url, request.headers]));
    });
    await using gateway = await startWithEcho();
    const add = [
      { name: 'X-Api-Key', value: 'the-secret-of-the-api' },
      { name: 'X-Token', value: 'Bearer $svc_meta.token' },
    ];
    const url = upstream.url.replace('http://', 'http://user:the-secret%2Fpassword@');
    const document = {
      ...apiFor('a', `${url}?api_key=the-secret%20parameter`, {
        server: {
          detailedActivityLogs: { enabled: true },
          authentication: {
            enabled: true,
            securitySchemes: { token: { enabled: true, header: { enabled: true, name: 'X-Key' } } },
          },
        },
        global: { transformRequestHeaders: { enabled: true, add } },
      }),
      components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    };
    gateway.feed.putKey(key, { access_rights: { a: {} }, meta_data: { token: 'the-secret-of-the-key' } });
    await gateway.put('a', document);
    const cookie = Array.from({ length: 40 }, (_, index) => `c${index}=a value of its own ${index}`).join('; ');
    const answer = await fetch(`${gateway.url}/a/`, { headers: { 'x-key': key, cookie } });
    const basic = Buffer.from('user:the-secret/password').toString('base64');
    expect(await answer.text())
      .to.contain(basic)
      .and.contain('the-secret-of-the-key');
    const shown = text((await recordOf(gateway, '/a/')).raw_response);
    expect(shown).to.contain('"authorization":"Basic ***"');
    expect(shown).not.to.contain(basic).and.not.to.contain('the-secret');
  });
});
