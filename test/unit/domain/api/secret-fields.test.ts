/** Which members of definitions are secrets, and which look like one and are none. */
import { expect } from 'chai';
import { findApiSecrets, isNeeded } from '../../../../domain/api/secret-fields.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { pointerOf, secretAt } from '../../../../domain/secret-places.ts';

const extension = (members: JsonObject): JsonObject => ({ 'x-svc-api-gateway': members });
const upstreamUrl = '/x-svc-api-gateway/upstream/url';

const pointersIn = (document: JsonObject): readonly string[] =>
  findApiSecrets(document).flatMap((place) => (secretAt(place) === undefined ? [] : [pointerOf(place.path)]));

const none: readonly (readonly [name: string, document: JsonObject])[] = [
  ['a reference to the environment', extension({ server: { eventHandlers: [{ secret: '$secret_env.HOOK' }] } })],
  [
    'a reference behind a scheme',
    extension({ server: { eventHandlers: [{ headers: { a: 'Bearer $secret_env.T' } }] } }),
  ],
  ['a reference to a file', extension({ server: { eventHandlers: [{ secret: 'file://hook' }] } })],
  ['an empty text', extension({ server: { eventHandlers: [{ secret: '' }] } })],
  ['an address without user info', extension({ upstream: { url: 'http://h/a@b' } })],
  ['a parameter without secret', extension({ upstream: { url: 'http://h/?monkey=1&api_key=&keys=a&q' } })],
  ['a parameter of a path', extension({ upstream: { url: 'http://h/token=1#key=2' } })],
  [
    'a parameter with a variable',
    extension({ middleware: { operations: { a: { urlRewrite: { rewriteTo: 'http://h/?token=$1' } } } } }),
  ],
  [
    'a public key',
    extension({ server: { authentication: { securitySchemes: { j: { signingMethod: 'rsa', source: 'k' } } } } }),
  ],
  ['a variable of a stream', { 'x-svc-streaming': { input: { password: '$'.concat('{PW}') } } }],
  ['a key of a message', { 'x-svc-streaming': { output: { kafka: { key: 'id' } } } }],
];

const seen: readonly (readonly [name: string, document: JsonObject, pointer: string])[] = [
  [
    'a shared key of a JWT scheme',
    extension({
      server: { authentication: { securitySchemes: { 'a/b|c': { signingMethod: 'hmac', source: 'k' } } } },
    }),
    '/x-svc-api-gateway/server/authentication/securitySchemes/a~1b|c/source',
  ],
  [
    'the address of public keys of a JWT scheme',
    extension({
      server: { authentication: { securitySchemes: { j: { signingMethod: 'rsa', source: 'https://u:p@idp/keys' } } } },
    }),
    '/x-svc-api-gateway/server/authentication/securitySchemes/j/source',
  ],
  [
    'the address of public keys of a Classic JWT',
    { jwt_signing_method: 'rsa', jwt_source: 'https://idp/keys?token=t' },
    '/jwt_source/?token',
  ],
  ['a shared key of a Classic JWT', { jwt_signing_method: 'hmac', jwt_source: 'k' }, '/jwt_source'],
  ['a parameter of an address', extension({ upstream: { url: 'http://h/?a=b&apiKey=c' } }), `${upstreamUrl}/?apiKey`],
  ['the second parameter of a name', extension({ upstream: { url: 'http://h/?sig=&sig=c' } }), `${upstreamUrl}/?sig 1`],
  [
    'a parameter of a Classic target',
    { proxy: { target_url: 'http://h/p?code=1&x-key=2' } },
    '/proxy/target_url/?x-key',
  ],
  ['an address of a server', { servers: [{ url: 'https://u@h/' }] }, '/servers/0/url'],
  ['a Classic target', { proxy: { target_list: ['http://h', 'http://u@h'] } }, '/proxy/target_list/1'],
  [
    'a Classic webhook',
    { event_handlers: { events: { AuthFailure: [{ handler_meta: { header_map: { a: 'b' } } }] } } },
    '/event_handlers/events/AuthFailure/0/handler_meta/header_map/a',
  ],
  [
    'a client key of a stream',
    { 'x-svc-streaming': { input: { tls: { client_certs: [{ cert: 'c', key: 'k' }] } } } },
    '/x-svc-streaming/input/tls/client_certs/0/key',
  ],
  [
    'a header of a stream',
    { 'x-svc-streaming': { input: { headers: { Accept: 'a', Authorization: 'b' } } } },
    '/x-svc-streaming/input/headers/Authorization',
  ],
];

describe('secrets of a definition', () => {
  for (const [name, document] of none) {
    it(`are not seen in ${name}`, () => expect(pointersIn(document)).to.deep.equal([]));
  }

  for (const [name, document, pointer] of seen) {
    it(`are seen in ${name}`, () => expect(pointersIn(document)).to.deep.equal([pointer]));
  }

  it('are needed where the block runs', () => {
    const path = (text: string): readonly string[] => ['x-svc-api-gateway', ...text.split('/')];
    const off = extension({ upstream: { authentication: { enabled: false }, proxy: { enabled: true } } });
    expect(isNeeded(off, path('upstream/url'))).to.equal(true);
    expect(isNeeded(off, path('upstream/proxy/url'))).to.equal(true);
    expect(isNeeded(off, path('upstream/authentication/basicAuth/password'))).to.equal(false);
    expect(isNeeded(off, path('server/eventHandlers/0/secret'))).to.equal(false);
    expect(isNeeded(off, ['servers', '0', 'url'])).to.equal(false);
  });
});
