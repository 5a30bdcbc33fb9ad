/** Secrets inside documents: taken out, put back, found again when lists are sorted anew, and never forgotten. */
import { expect } from 'chai';
import fc from 'fast-check';
import { findApiSecrets } from '../../../domain/api/secret-fields.ts';
import {
  forgottenPlaces,
  type HeldSecret,
  maskedNames,
  named,
  revealed,
  sameDocument,
  takeSecrets,
  withoutSecrets,
} from '../../../domain/document-secrets.ts';
import type { Json, JsonObject, Secret } from '../../../domain/event.ts';
import { pointerOf, withMask } from '../../../domain/secret-places.ts';
import { findWebhookSecrets } from '../../../domain/webhook.ts';

const extension = (members: JsonObject): JsonObject => ({ 'x-svc-api-gateway': members });
const upstreamUrl = '/x-svc-api-gateway/upstream/url';
const nothing = { document: {}, secrets: [] };

const counting = (start = 0) => {
  let count = start;
  return () => `00000000-0000-7000-8000-${String(++count).padStart(12, '0')}`;
};

const clearOf = (secret: Secret): string => ('clear' in secret ? secret.clear : '');
const heldOf = ({ document, secrets }: ReturnType<typeof takeSecrets>) => ({
  document,
  secrets: secrets.map(
    ({ pointer, secret }): HeldSecret => ({ pointer, kid: secret.kid ?? '', clear: clearOf(secret) }),
  ),
});
const take = (document: JsonObject, held: Parameters<typeof takeSecrets>[1] = nothing) =>
  takeSecrets(document, held, findApiSecrets, counting(held.secrets.length));

/** Texts for the masks of a document. */
const allAt = (document: JsonObject) =>
  findApiSecrets(document).map(({ path }) => ({ pointer: pointerOf(path), clear: 'user:kept' }));

const word = fc.stringMatching(/^[a-z0-9]{1,12}$/);
const handler = fc.record({
  name: word,
  url: fc.oneof(
    word.map((host) => `https://${host}.example/`),
    fc.tuple(word, word).map(([key, host]) => `https://${host}/?sig=${key}&q=${host}&sig=${key}2`),
    fc.tuple(word, word).map(([user, host]) => `https://${user}:p@${host}/`),
  ),
  headers: fc.oneof(
    fc.array(fc.record({ name: word, value: word }), { maxLength: 3 }) as fc.Arbitrary<Json>,
    fc.dictionary(word, word, { maxKeys: 3 }),
  ),
  secret: word,
});
const documents = fc
  .record({
    url: fc.tuple(word, word, word).map(([user, host, key]) => `http://${user}:pw@${host}/?api_key=${key}#x`),
    password: word,
    handlers: fc.uniqueArray(handler, { selector: ({ name }) => name, maxLength: 4 }),
    urls: fc.array(
      word.map((user) => `amqp://${user}:x@host/`),
      { maxLength: 3 },
    ),
  })
  .map(({ url, password, handlers, urls }) => ({
    ...extension({
      upstream: { url, authentication: { enabled: false, basicAuth: { password } } },
      server: { eventHandlers: handlers as unknown as Json },
    }),
    'x-svc-streaming': { streams: { one: { input: { amqp: { urls, password } } } } },
  })) as fc.Arbitrary<JsonObject>;

const shuffled = (document: JsonObject): JsonObject => {
  const own = document['x-svc-api-gateway'] as JsonObject;
  const server = own['server'] as JsonObject;
  const handlers = (server['eventHandlers'] as readonly Json[]).toReversed();
  return { ...document, 'x-svc-api-gateway': { ...own, server: { ...server, eventHandlers: handlers } } };
};

describe('secrets of a document', () => {
  it('taken out and put back give the document', () =>
    fc.assert(
      fc.property(documents, (document) => {
        const taken = take(document);
        expect(taken.problems).to.deep.equal([]);
        expect(taken.clear).to.deep.equal(document);
        const opened = taken.secrets.map(({ pointer, secret }) => ({ pointer, clear: clearOf(secret) }));
        expect(revealed(taken.document, opened)).to.deep.equal(document);
      }),
    ));

  it('leave nothing in clear behind, and no mask without a secret', () =>
    fc.assert(
      fc.property(documents, (document) => {
        const { document: masked, secrets } = take(document);
        expect(forgottenPlaces(masked, secrets, findApiSecrets)).to.deep.equal([]);
        expect(take(masked, heldOf(take(document))).document).to.deep.equal(masked);
        if (secrets[0])
          expect(forgottenPlaces(masked, secrets.slice(1), findApiSecrets)).to.deep.equal([secrets[0].pointer]);
        if (secrets.length > 0)
          expect(forgottenPlaces(document, secrets, findApiSecrets)).to.have.length(secrets.length);
      }),
    ));

  it('keep their keys when masks or the same texts come back, in whatever order', () =>
    fc.assert(
      fc.property(documents, (document) => {
        const first = take(document);
        const held = heldOf(first);
        for (const again of [first.document, document]) {
          expect(sameDocument(take(again, held), first)).to.equal(true);
          const moved = take(shuffled(again), held);
          expect(moved.clear).to.deep.equal(shuffled(document));
          expect(moved.secrets.every(({ secret }) => !('isNew' in secret))).to.equal(true);
        }
      }),
    ));

  it('show that they changed in what differences are made of, and only there', () => {
    const one = take(extension({ upstream: { url: 'http://u:a@h/' } }));
    const other = take(extension({ upstream: { url: 'http://u:b@h/' } }), heldOf(one));
    expect(one.document).to.deep.equal(other.document);
    expect(sameDocument(one, other)).to.equal(false);
    expect(maskedNames(named(other.document, other.secrets))).to.deep.equal(other.document);
  });

  it('go where their place is left out', () => {
    const { document } = take(
      extension({ upstream: { url: 'http://u:a@h/p?q=1&key=k', authentication: { basicAuth: { password: 'p' } } } }),
    );
    const at = (path: string): string => `/x-svc-api-gateway/upstream/${path}`;
    expect(
      withoutSecrets(document, [at('url'), at('url/?key'), at('authentication/basicAuth/password')]),
    ).to.deep.equal(
      extension({ upstream: { url: 'http://h/p?q=1&key=', authentication: { basicAuth: { password: '' } } } }),
    );
  });

  it('are refused where a mask has nothing to keep, where the value is gone, and where it is no text', () => {
    const document = extension({ upstream: { authentication: { basicAuth: { password: '***' } } } });
    const pointer = '/x-svc-api-gateway/upstream/authentication/basicAuth/password';
    const codes = (...args: Parameters<typeof take>) => take(...args).problems.map(({ code }) => code);
    expect(codes(document)).to.deep.equal(['secret_not_stored']);
    expect(codes(document, { document, secrets: [{ pointer, kid: 'k' }] })).to.deep.equal(['secret_gone']);
    expect(codes(extension({ upstream: { authentication: { basicAuth: { password: 7 } } } }))).to.deep.equal(['type']);
  });

  describe('behind a mask stay with the address that they are sent to:', () => {
    const gatewayOf = (members: JsonObject): JsonObject => extension({ upstream: members });
    const oauth = (tokenUrl: string, url = 'http://a/'): JsonObject =>
      gatewayOf({ url, authentication: { oauth: { clientCredentials: { tokenUrl, clientSecret: '***' } } } });
    const basic = (members: JsonObject): JsonObject =>
      gatewayOf({ ...members, authentication: { basicAuth: { password: '***' } } });
    const hooks = (...urls: readonly string[]): JsonObject =>
      extension({ server: { eventHandlers: urls.map((url, index) => ({ name: `n${index}`, url, secret: '***' })) } });
    const stream = (input: JsonObject): JsonObject => ({ 'x-svc-streaming': { streams: { one: { input } } } });
    const kafka = (...addresses: readonly string[]) =>
      stream({ kafka: { addresses, sasl: { user: 'u', password: '***' } } });
    const classicHook = (target_path: string): JsonObject => ({
      event_handlers: { events: { Fired: [{ handler_meta: { target_path, header_map: { a: '***' } } }] } },
    });
    const classicBasic = (target_url: string): JsonObject => ({
      ...{ proxy: { target_url }, upstream_auth: { basic_auth: { password: '***' } } },
    });

    const url = (text: string) => gatewayOf({ url: text });
    const rows: readonly (readonly [name: string, before: JsonObject, kept: JsonObject, moved: JsonObject])[] = [
      ['its host', url('http://***@a/x'), url('http://***@A:80/y'), url('http://***@evil/x')],
      ['its port', url('http://***@a:81/'), url('http://***@a:81/y?z'), url('http://***@a:82/')],
      ['its scheme', url('https://***@a/'), url('HTTPS://***@a:443/'), url('http://***@a/')],
      [
        'its host, in a parameter',
        url('http://a/?key=***'),
        url('http://A:80/y?b=c&key=***'),
        url('http://evil/?key=***'),
      ],
      ['its user', url('http://***@a/'), url('http://user:***@a/'), url('http://other:***@a/')],
      ['the host that a client reads', url('http://***@a/'), url('http://***@a/\t.evil'), url('http://***@a\t.evil/')],
      ['the upstream', basic({ url: 'http://a/' }), basic({ url: 'http://A:80/b' }), basic({ url: 'http://evil/' })],
      [
        'the targets',
        basic({ loadBalancing: { targets: [{ url: 'http://a' }, { url: 'http://b' }] } }),
        basic({ loadBalancing: { targets: [{ url: 'http://b/' }] } }),
        basic({ loadBalancing: { targets: [{ url: 'http://a' }, { url: 'http://evil' }] } }),
      ],
      [
        'the proxy',
        basic({ url: 'http://a/', proxy: { url: 'http://p/' } }),
        basic({ url: 'http://a/' }),
        basic({ url: 'http://a/', proxy: { url: 'http://evil/' } }),
      ],
      ['an upstream that was none', basic({}), basic({}), basic({ url: 'http://evil/' })],
      ['the token endpoint', oauth('http://t/'), oauth('http://t/2', 'http://b/'), oauth('http://evil/')],
      [
        'an event handler',
        hooks('http://a/', 'http://b/'),
        hooks('http://a/2', 'http://b'),
        hooks('http://b', 'http://a'),
      ],
      ['the brokers of a stream', kafka('a:1', 'b:1'), kafka('b:1'), kafka('a:1', 'b:2')],
      [
        'the brokers, whatever stands nearer',
        kafka('a:1'),
        kafka('a:1'),
        stream({ kafka: { addresses: ['evil:1'], sasl: { user: 'u', password: '***', host: 'a:1' } } }),
      ],
      [
        'an address around it',
        stream({ http_client: { url: 'http://a/', tls: { client_certs: [{ key: '***' }] } } }),
        stream({ http_client: { url: 'http://a/b', tls: { client_certs: [{ key: '***' }] } } }),
        stream({ http_client: { url: 'http://evil/', tls: { client_certs: [{ key: '***' }] } } }),
      ],
      ['a Classic handler', classicHook('http://a/'), classicHook('http://a/b'), classicHook('http://evil/')],
      ['a Classic target', classicBasic('http://a'), classicBasic('http://a/b'), classicBasic('http://evil')],
    ];
    for (const [name, before, kept, moved] of rows) {
      it(name, () => {
        const document = take(revealed(before, allAt(before)));
        const stays = take(kept, heldOf(document));
        expect(stays.problems).to.deep.equal([]);
        expect(stays.secrets.map(({ secret }) => clearOf(secret))).to.satisfy((texts: readonly string[]) =>
          texts.every((text) => text === 'user:kept'),
        );
        const leaves = take(moved, heldOf(document));
        expect(leaves.problems.map(({ code }) => code)).to.include('secret_mask_moved');
        expect(JSON.stringify([leaves.clear, leaves.secrets])).not.to.contain('kept');
        expect(JSON.stringify(leaves.problems)).not.to.contain('kept');
      });
    }

    it('each for itself: user info and parameters of one address', () => {
      const held = heldOf(take(url('http://u:a@h/?key=b&token=c')));
      const sent = take(url('http://***@h/?key=new&token=***'), held);
      expect([sent.problems, sent.clear]).to.deep.equal([[], url('http://u:a@h/?key=new&token=c')]);
      expect(sent.document).to.deep.equal(url('http://***@h/?key=***&token=***'));
      expect(sent.secrets.filter(({ secret }) => 'isNew' in secret).map(({ pointer }) => pointer)).to.deep.equal([
        `${upstreamUrl}/?key`,
      ]);
    });

    it('a text that is sent again goes anywhere', () => {
      const held = heldOf(take(url('http://u:kept@a/')));
      const sent = take(url('http://u:kept@evil/'), held);
      expect([sent.problems, sent.clear]).to.deep.equal([[], url('http://u:kept@evil/')]);
    });
  });

  it('are not handed to another entry when a list shrinks and its entry has a new name', () => {
    const hooks = (...names: readonly string[]): JsonObject =>
      extension({ server: { eventHandlers: names.map((name) => ({ name, secret: `of ${name}` })) } });
    const held = heldOf(take(hooks('a', 'b')));
    const shrunk = extension({ server: { eventHandlers: [{ name: 'c', secret: '***' }] } });
    expect(take(shrunk, held).problems.map(({ code }) => code)).to.deep.equal(['secret_not_stored']);
    const renamed = extension({
      server: {
        eventHandlers: [
          { name: 'a', secret: '***' },
          { name: 'c', secret: '***' },
        ],
      },
    });
    expect(take(renamed, held).secrets.map(({ secret }) => clearOf(secret))).to.deep.equal(['of a', 'of b']);
  });

  it('are taken from a document with thousands of them in a time that grows with it', () => {
    const headers = Array.from({ length: 20_000 }, (_, index) => ({ name: `h${index}`, value: `v${index}` }));
    const document = extension({ server: { eventHandlers: [{ name: 'a', headers }] } });
    const first = take(document);
    const again = take(first.document, heldOf(first));
    expect(again.clear).to.deep.equal(document);
  });

  it('are found in webhooks', () => {
    const webhook = { url: 'http://u@h/', headers: [{ name: 'a', value: 'b' }], secret: 'c' };
    const taken = takeSecrets(webhook, nothing, findWebhookSecrets, counting());
    expect(taken.document).to.deep.equal({
      url: 'http://***@h/',
      headers: [{ name: 'a', value: '***' }],
      secret: '***',
    });
  });

  it('stay in place when an address has more than one at sign', () =>
    expect(withMask('http://u:p@q@h/?token=t')).to.equal('http://***@h/?token=***'));
});
