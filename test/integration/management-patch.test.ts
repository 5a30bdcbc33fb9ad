/** PATCH over sockets, rule by rule of the specification: precedence, what is kept and what goes, patches of parts, and writers that meet. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { at } from '../../domain/json.ts';
import { apiDocument, extensionOf, keyless, openApi } from '../support/documents.ts';
import { listenAt, streams } from '../support/management-refusals.ts';
import { type Answer, startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';

const gateway = 'x-svc-api-gateway';
const streaming = 'x-svc-streaming';
const merge = { 'content-type': 'application/merge-patch+json' };
const patch = { 'content-type': 'application/json-patch+json' };
const someStreams = { streams: { in: { input: {}, output: {} } } };

describe('PATCH of a definition', () => {
  let management: TestManagement;
  let count = 0;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  /** A streams API of its own for each test. */
  const given = async (parts: Parameters<typeof apiDocument>[0] = {}, members: JsonObject = {}): Promise<string> => {
    count += 1;
    const id = `api${count}`;
    const { server, ...rest } = { ...parts };
    const body = apiDocument(
      { ...rest, info: { id, ...parts.info }, server: { ...listenAt(`/${id}/`).server, ...server } },
      members,
    );
    const made = await management.call('POST', streams, body);
    expect(made.status, made.text).to.equal(200);
    return `${streams}/${id}`;
  };
  const patched = async (
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<JsonObject> => {
    const answer = await management.call('PATCH', path, body, headers);
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.text).to.equal('{"Message":"API updated","Meta":null,"Status":"OK"}');
    return (await management.call('GET', path.replace(/\?.*/, ''))).json;
  };
  const serverOf = (document: JsonObject) => at(document, gateway, 'server');
  const extension = (path: string, value: string) =>
    extensionOf({ info: { id: path.split('/').at(-1) ?? '' }, server: { listenPath: { value, strip: false } } });

  describe('takes query over body extension over stored extension:', () => {
    it('the extension of the body whole when there are no parameters', async () => {
      const path = await given({ server: { revisionHeader: { enabled: true } } });
      const document = await patched(path, openApi({ [gateway]: extension(path, '/body1') }));
      expect(serverOf(document)).to.deep.equal({ listenPath: { value: '/body1', strip: false }, ...keyless });
    });
    it('the stored extension when the body has none', async () => {
      const path = await given({ server: { revisionHeader: { enabled: true } } });
      const before = (await management.call('GET', path)).json;
      expect((await patched(path, openApi({ info: { title: 'New', version: '2' } })))[gateway]).to.deep.equal(
        before[gateway],
      );
    });
    it('parameters over the stored extension', async () => {
      const path = await given({ server: { revisionHeader: { enabled: true } } });
      const document = await patched(`${path}?listenPath=/query1&customDomain=q.example`, openApi());
      expect(serverOf(document)).to.deep.equal({
        ...{ listenPath: { value: '/query1', strip: true }, revisionHeader: { enabled: true } },
        ...{ customDomain: { enabled: true, name: 'q.example' }, ...keyless },
      });
    });
    it('parameters over the extension of the body, the stored one forgotten', async () => {
      const path = await given({ server: { revisionHeader: { enabled: true } } });
      const document = await patched(`${path}?listenPath=/query2`, openApi({ [gateway]: extension(path, '/body2') }));
      expect(serverOf(document)).to.deep.equal({ listenPath: { value: '/query2', strip: false }, ...keyless });
    });
    it('and fills name and address only where parameters or the stored extension speak', async () => {
      const path = await given();
      const { upstream: _, ...noUpstream } = extension(path, '/filled');
      const body = openApi({ [gateway]: { ...noUpstream, info: { ...(noUpstream['info'] as JsonObject), name: '' } } });
      expect((await management.call('PATCH', path, body)).status).to.equal(400);
      const document = await patched(`${path}?listenPath=/filled`, body);
      expect(at(document, gateway, 'info', 'name')).to.equal('Orders');
      expect(at(document, gateway, 'upstream', 'url')).to.equal('http://127.0.0.1:9001/base');
    });
    it('and never takes import defaults for state and strip', async () => {
      const path = await given({
        info: { state: { active: false, internal: true } },
        server: { listenPath: { value: '/kept-state', strip: false } },
      });
      const document = await patched(`${path}?authentication=false`, openApi());
      expect(at(document, gateway, 'info', 'state')).to.deep.equal({ active: false, internal: true });
      expect(at(document, gateway, 'server', 'listenPath', 'strip')).to.equal(false);
    });
  });

  describe('keeps and drops:', () => {
    it('the OAS part comes whole from the body', async () => {
      const path = await given(
        {},
        { 'x-mine': 1, tags: [{ name: 'a' }], paths: { '/a': { get: { responses: { 200: { description: '' } } } } } },
      );
      const document = await patched(path, openApi());
      expect(document).not.to.have.any.keys('x-mine', 'tags');
      expect(document['paths']).to.deep.equal({});
    });
    it('servers stay when the body has no such member, and go with an empty list', async () => {
      const path = await given({}, { servers: [{ url: 'http://mine.example/' }] });
      const { servers: _, ...body } = openApi();
      expect((await patched(path, body))['servers']).to.deep.equal([{ url: 'http://mine.example/' }]);
      expect((await patched(path, { ...body, servers: [] }))['servers']).to.deep.equal([]);
    });
    it('streams stay, are replaced, and go with null', async () => {
      const path = await given({}, { [streaming]: someStreams });
      expect((await patched(path, openApi()))[streaming]).to.deep.equal(someStreams);
      const other = { streams: { out: { input: {}, output: {} } } };
      expect((await patched(path, openApi({ [streaming]: other })))[streaming]).to.deep.equal(other);
      expect(await patched(path, openApi({ [streaming]: null }))).not.to.have.property(streaming);
    });
    it('settings of operations that are gone are pruned, named and told in the history', async () => {
      const paths = { '/a': { get: { operationId: 'getA', responses: { 200: { description: '' } } } } };
      const off = { allow: { enabled: false } };
      const path = await given({ operations: { getA: off } }, { paths });
      const body = openApi({
        paths: { '/a': { get: { operationId: 'renamed', responses: { 200: { description: '' } } } } },
      });
      const answer = await management.call('PATCH', path, body, { prefer: 'return=representation' });
      expect(at(answer.json['Meta'] as JsonObject, 'pruned')).to.deep.equal(['getA']);
      expect(Number(answer.headers.get('x-svc-warnings'))).to.be.above(0);
      const { json: document } = await management.call('GET', path);
      expect(at(document, gateway, 'middleware', 'operations')).to.deep.equal({});
      const id = path.split('/').at(-1) ?? '';
      const { json: entry } = await management.call('GET', `/api/apis/${id}/revisions/2`);
      expect([entry['pruned'], entry['type']]).to.deep.equal([['getA'], 'ApiDefinitionPatched']);
    });
    it('ids of storage stay, with a warning', async () => {
      const path = await given();
      const before = (await management.call('GET', path)).json;
      const id = path.split('/').at(-1) ?? '';
      const answer = await management.call(
        ...(['PATCH', `${path}?dryRun=true`] as const),
        openApi({ [gateway]: extensionOf({ info: { id, dbId: 'x', orgId: 'y' }, ...listenAt(`/${id}/`) }) }),
      );
      const meta = answer.json['Meta'] as JsonObject;
      const codes = (meta['warnings'] as readonly JsonObject[]).map(({ code }) => code);
      expect(codes.filter((code) => code === 'id_kept')).to.have.length(2);
      expect(at(meta, 'document', gateway, 'info', 'dbId')).to.equal(at(before, gateway, 'info', 'dbId'));
    });
    it('nothing different is no event and the same ETag', async () => {
      const path = await given();
      const before = await management.call('GET', path);
      const head = await management.store.head();
      const answer = await management.call('PATCH', path, before.json);
      expect(answer.headers.get('etag')).to.equal(before.headers.get('etag'));
      expect(await management.store.head()).to.equal(head);
    });
    it('two in a row both count', async () => {
      const path = await given();
      await patched(`${path}?customDomain=two.example`, openApi());
      const document = await patched(`${path}?authentication=false`, openApi());
      expect(at(document, gateway, 'server', 'customDomain', 'name')).to.equal('two.example');
      expect(at(document, gateway, 'server', 'authentication', 'enabled')).to.equal(false);
    });
    it('a dry run changes nothing and says what would', async () => {
      const path = await given();
      const before = await management.call('GET', path);
      const answer = await management.call('PATCH', `${path}?dryRun=true&listenPath=/elsewhere`, openApi());
      expect(answer.headers.get('x-svc-dry-run')).to.equal('true');
      const meta = answer.json['Meta'] as JsonObject;
      expect(meta['etag']).to.equal(before.headers.get('etag'));
      expect(meta['diff']).to.deep.equal([
        { op: 'replace', path: `/${gateway}/server/listenPath/value`, value: '/elsewhere' },
      ]);
      expect((await management.call('GET', path)).text).to.equal(before.text);
    });
  });

  describe('of parts', () => {
    it('merges into the stored document as a whole, and prunes', async () => {
      const paths = { '/a': { get: { operationId: 'getA', responses: { 200: { description: '' } } } } };
      const path = await given(
        { operations: { getA: { allow: { enabled: false } } } },
        { paths, [streaming]: someStreams },
      );
      const body = {
        info: { title: 'Merged' },
        paths: { '/a': null },
        [gateway]: { server: { revisionHeader: { enabled: true } } },
      };
      const document = await patched(path, JSON.stringify(body), merge);
      expect(document['info']).to.deep.equal({ title: 'Merged', version: '1.0.0' });
      expect(at(document, gateway, 'server', 'revisionHeader', 'enabled')).to.equal(true);
      expect(at(document, gateway, 'middleware', 'operations')).to.deep.equal({});
      expect(document[streaming]).to.deep.equal(someStreams);
    });
    it('lays parameters over the result', async () => {
      const path = await given();
      const body = JSON.stringify({ [gateway]: { server: { listenPath: { value: '/from-body' } } } });
      const document = await patched(`${path}?listenPath=/from-query`, body, merge);
      expect(at(document, gateway, 'server', 'listenPath', 'value')).to.equal('/from-query');
    });
    it('runs operations of a JSON patch, tests included', async () => {
      const path = await given();
      const operations = [
        { op: 'test', path: '/info/title', value: 'Orders' },
        { op: 'replace', path: '/info/title', value: 'Patched' },
        { op: 'add', path: `/${gateway}/server/gatewayTags`, value: { enabled: true, tags: ['eu'] } },
      ];
      const document = await patched(path, JSON.stringify(operations), patch);
      expect(at(document, 'info', 'title')).to.equal('Patched');
      expect(at(document, gateway, 'server', 'gatewayTags', 'tags')).to.deep.equal(['eu']);
    });
    it('is told in the history by its form', async () => {
      const path = await given();
      await patched(path, JSON.stringify([{ op: 'replace', path: '/info/title', value: 'Told' }]), patch);
      const { json: entry } = await management.call('GET', `/api/apis/${path.split('/').at(-1)}/revisions/2`);
      expect(at(entry, 'intent', 'mode')).to.equal('json-patch');
    });
    it('keeps what is stored where a mask stands', async () => {
      const secret = 'kept-and-never-shown';
      const upstream = { url: `http://user:${secret}@u.example/` };
      const path = await given({ upstream });
      const before = await management.call('GET', path);
      expect(before.text).to.contain('***').and.not.to.contain(secret);
      const operations = [
        { op: 'test', path: `/${gateway}/upstream/url`, value: at(before.json, gateway, 'upstream', 'url') },
        { op: 'replace', path: '/info/title', value: 'Masked' },
      ];
      const document = await patched(path, JSON.stringify(operations), patch);
      expect(at(document, gateway, 'upstream')).to.deep.equal(at(before.json, gateway, 'upstream'));
      const { json: diff } = await management.call('GET', `/api/apis/${path.split('/').at(-1)}/diff?from=1&to=current`);
      expect(JSON.stringify(diff['diff'])).not.to.contain('upstream');
    });
  });

  describe('as YAML or a file', () => {
    it('reads the YAML form of the vendor type', async () => {
      const path = await given();
      const yaml = 'openapi: 3.0.3\ninfo: {title: Yaml, version: "1"}\npaths: {}\n';
      const document = await patched(path, yaml, { 'content-type': `${streamsType}+yaml; charset=utf-8` });
      expect(at(document, 'info', 'title')).to.equal('Yaml');
    });
    it('reads the part "file" of a form', async () => {
      const path = await given();
      const form = new FormData();
      form.set('file', new File([JSON.stringify(openApi({ info: { title: 'Form', version: '1' } }))], 'a.json'));
      expect(at(await patched(path, form), 'info', 'title')).to.equal('Form');
    });
  });

  describe('by several at once', () => {
    it('tells the second of two what the first has changed', async () => {
      const path = await given();
      const etag = (await management.call('GET', path)).headers.get('etag') ?? '';
      const problem = { accept: 'application/problem+json', 'if-match': etag };
      const both = await Promise.all(
        ['/first', '/second'].map((listen) =>
          management.call('PATCH', `${path}?listenPath=${listen}`, openApi(), problem),
        ),
      );
      const [won, lost] = both.toSorted((a, b) => a.status - b.status) as [Answer, Answer];
      expect([won.status, lost.status]).to.deep.equal([200, 412]);
      const current = await management.call('GET', path);
      expect(lost.headers.get('etag')).to.equal(current.headers.get('etag'));
      const value = at(current.json, gateway, 'server', 'listenPath', 'value') ?? null;
      expect(lost.json['diff']).to.deep.equal([{ op: 'replace', path: `/${gateway}/server/listenPath/value`, value }]);
    });
    it('loses none of fifty', async () => {
      const path = await given();
      const add = (index: number) =>
        JSON.stringify([{ op: 'add', path: `/${gateway}/server/gatewayTags/tags/-`, value: `t${index}` }]);
      await patched(
        path,
        JSON.stringify({ [gateway]: { server: { gatewayTags: { enabled: true, tags: [] } } } }),
        merge,
      );
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => management.call('PATCH', path, add(index), patch)),
      );
      expect(answers.map(({ status }) => status).filter((status) => ![200, 409, 412].includes(status))).to.deep.equal(
        [],
      );
      const applied = answers.flatMap(({ status }, index) => (status === 200 ? [`t${index}`] : []));
      const { json: document } = await management.call('GET', path);
      expect(at(document, gateway, 'server', 'gatewayTags', 'tags')).to.have.members(applied);
      expect(
        new Set(answers.flatMap(({ status, headers }) => (status === 200 ? [headers.get('etag')] : []))).size,
      ).to.equal(applied.length);
    });
  });
});
