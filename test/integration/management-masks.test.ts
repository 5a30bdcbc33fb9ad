/** Masks over the management API: who may write a definition and not read its secrets cannot have them sent to another address. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { toApiId } from '../../domain/ids.ts';
import { openDocument } from '../../src/management/definitions/definition-secrets.ts';
import { loadApi } from '../../src/management/load.ts';
import { classicDefinition } from '../support/classic-definitions.ts';
import { openApi } from '../support/documents.ts';
import { json, named } from '../support/management-refusals.ts';
import { type Answer, startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';

const gateway = 'x-svc-api-gateway';
const userInfo = 'gate:UpstreamPass-91';
const password = 'BasicPass-92';
const evil = 'http://***@evil.example/';

const basicAuth = (text: string): JsonObject => ({ enabled: false, username: 'gate', password: text });

const documentOf = (id: string, url: string, text: string): JsonObject =>
  named(id, { upstream: { url, authentication: { enabled: false, basicAuth: basicAuth(text) } } });

const classicOf = (url: string, text: string): string => {
  const auth = { upstream_auth: { enabled: false, basic_auth: basicAuth(text) } };
  return JSON.stringify(classicDefinition('older', url, auth));
};

describe('a mask in the place of a secret', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const stored = async (id: string): Promise<readonly (string | undefined)[]> => {
    const { state } = await loadApi(management.store, toApiId(id));
    if (!state.exists) throw new Error(`no API ${id}`);
    return (await openDocument(management.keyRing, `api-${id}`, state)).secrets.map(({ clear }) => clear);
  };
  const expectRefused = async (answer: Answer, id: string, head: string): Promise<void> => {
    expect(answer.status, answer.text).to.be.oneOf([400, 422]);
    const told = answer.text.match(/the stored secret stays with http:\/\/127\.0\.0\.1:9001; send the secret again/g);
    expect(told, answer.text).to.have.length.at.least(2);
    expect(answer.text).to.match(/basic_?auth.password: the stored/i);
    expect(await management.store.head()).to.equal(head);
    expect(await stored(id)).to.have.members([userInfo, password]);
  };

  type Way = {
    readonly name: string;
    readonly kind?: 'oas';
    readonly send: (path: string, id: string) => Promise<Answer>;
  };
  const type = (name: string) => ({ 'content-type': name });
  const typeOf = ({ kind }: Pick<Way, 'kind'>) => (kind === 'oas' ? json : type(streamsType));
  const patch = (path: string, body: unknown, headers: Record<string, string>) =>
    management.call('PATCH', path, JSON.stringify(body), headers);

  const ways: readonly Way[] = [
    {
      name: 'a PUT',
      send: (path, id) => management.call('PUT', path, JSON.stringify(documentOf(id, evil, '***')), type(streamsType)),
    },
    { name: 'a PATCH', send: (path, id) => patch(path, documentOf(id, evil, '***'), type(streamsType)) },
    {
      name: 'a dry run',
      send: (path, id) => patch(`${path}?dryRun=true`, documentOf(id, evil, '***'), type(streamsType)),
    },
    {
      name: 'a PATCH with an address in its query',
      kind: 'oas',
      send: (path) => patch(`${path}?upstreamURL=${encodeURIComponent(evil)}`, openApi(), json),
    },
    {
      name: 'a merge patch',
      send: (path) => patch(path, { [gateway]: { upstream: { url: evil } } }, type('application/merge-patch+json')),
    },
    {
      name: 'a JSON patch',
      send: (path) =>
        patch(
          path,
          [{ op: 'replace', path: `/${gateway}/upstream/url`, value: evil }],
          type('application/json-patch+json'),
        ),
    },
    {
      name: 'a declarative set',
      send: (_, id) => {
        const object = { kind: 'api', apiKind: 'streams', id, document: documentOf(id, evil, '***') };
        return management.call('POST', '/api/config/apply', JSON.stringify({ objects: [object] }), json);
      },
    },
  ];
  for (const [index, way] of ways.entries()) {
    it(`keeps nothing for another address in ${way.name}`, async () => {
      const id = `api${index}`;
      const routes = `/api/apis/${way.kind ?? 'streams'}`;
      const body = JSON.stringify(documentOf(id, `http://${userInfo}@127.0.0.1:9001/`, password));
      const made = await management.call('POST', routes, body, typeOf(way));
      expect(made.status, made.text).to.equal(200);
      const head = await management.store.head();
      await expectRefused(await way.send(`${routes}/${id}`, id), id, head);
    });
  }

  it('keeps nothing for another address in a Classic definition, and the secret for another path', async () => {
    const target = `http://${userInfo}@127.0.0.1:9001/`;
    const made = await management.call('POST', '/api/apis', classicOf(target, password), json);
    expect(made.status, made.text).to.equal(200);
    const head = await management.store.head();
    const put = (url: string) => management.call('PUT', '/api/apis/older', classicOf(url, '***'), json);
    await expectRefused(await put(evil), 'older', head);
    const kept = await put('http://gate:***@127.0.0.1:9001/other');
    expect(kept.status, kept.text).to.equal(200);
    expect(await stored('older')).to.have.members([userInfo, password]);
  });
});
