/** Addresses that an export puts in front of the user's servers, by what the definition and the installation say. */
import { expect } from 'chai';
import { generatedServers, withoutGeneratedServers, withServersInFront } from '../../../../domain/api/servers.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { textAt } from '../../../../domain/json.ts';
import { apiDocument } from '../../../support/documents.ts';

const gateways = [{ url: 'https://gw.example', tags: [] }];
const urlsOf = (servers: unknown) => (servers as readonly JsonObject[]).map((server) => textAt(server, 'url'));
const versioned = (versioning: JsonObject, path = '/orders/') =>
  apiDocument({
    info: { versioning: { enabled: true, name: 'v1', ...versioning } },
    server: { listenPath: { value: path } },
  });

describe('generatedServers', () => {
  const cases: readonly (readonly [name: string, document: JsonObject, urls: readonly string[]])[] = [
    ['a gateway and the listen path', apiDocument(), ['https://gw.example/orders']],
    ['nothing of an internal API', apiDocument({ info: { state: { active: true, internal: true } } }), []],
    [
      'a base by its path, and alone while it has no default',
      versioned({ location: 'url' }),
      ['https://gw.example/orders/v1'],
    ],
    [
      'a base by its parameter, and without version when there is a default',
      versioned({ location: 'url-param', key: 'v', default: 'self' }),
      ['https://gw.example/orders?v=v1', 'https://gw.example/orders'],
    ],
    ['a base by its header, which no address shows', versioned({ location: 'header' }), ['https://gw.example/orders']],
    ['a base at the root', versioned({ location: 'url' }, '/'), ['https://gw.example/v1']],
  ];
  for (const [name, document, urls] of cases) {
    it(name, () => expect(urlsOf(generatedServers(document, gateways))).to.deep.equal(urls));
  }
  it('a version through its base, also an internal one', () => {
    const child = apiDocument({ info: { state: { active: true, internal: true } } });
    const place = { base: versioned({ location: 'url' }), name: 'v 2' };
    expect(urlsOf(generatedServers(child, gateways, place))).to.deep.equal(['https://gw.example/orders/v%202']);
  });
  it('a path alone without any gateway', () => {
    expect(urlsOf(generatedServers(apiDocument(), []))).to.deep.equal(['/orders']);
  });
});

describe('servers of an export', () => {
  const own = [{ url: 'https://gw.example//orders/' }, { url: 'https://mine.example/' }];
  it('name each address once, whatever its slashes', () => {
    const exported = withServersInFront({ servers: own }, generatedServers(apiDocument(), gateways));
    expect(urlsOf(exported['servers'])).to.deep.equal(['https://gw.example/orders', 'https://mine.example/']);
  });
  it('go when they come back, by their mark or by their address', () => {
    const generated = generatedServers(apiDocument(), gateways);
    const { servers } = withServersInFront({ servers: [{ url: 'https://mine.example/' }] }, generated);
    expect(urlsOf(withoutGeneratedServers({ servers: servers ?? [] }, [])['servers'])).to.deep.equal([
      'https://mine.example/',
    ]);
    expect(urlsOf(withoutGeneratedServers({ servers: own }, generated)['servers'])).to.deep.equal([
      'https://mine.example/',
    ]);
  });
  it('stay as they are without anything generated', () => {
    const document = { servers: [{ url: '/orders' }] };
    expect(withoutGeneratedServers(document, generatedServers(apiDocument(), []))).to.equal(document);
  });
});
