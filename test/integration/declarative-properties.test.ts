/** Laws of declarative files: an export applied is no change, and it makes the same configuration where there was none. */
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { portable, type SetKind } from '../../domain/apply.ts';
import type { JsonObject } from '../../domain/event.ts';
import { canonicalSha256 } from '../../src/management/derived-fields.ts';
import { svc } from '../support/cli.ts';
import { json, listenAt, named, pem } from '../support/management-refusals.ts';
import { startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { chainOf } from '../support/test-ca.ts';

const apiIds = ['a', 'b', 'c', 'd'] as const;
const policyIds = ['gold', 'silver', 'tin'] as const;

const apiId = fc.constantFrom(...apiIds);
const policyId = fc.constantFrom(...policyIds);
const rights = fc
  .uniqueArray(apiId, { maxLength: 3 })
  .chain((ids) =>
    fc.record(Object.fromEntries(ids.map((id) => [id, fc.constantFrom<JsonObject>({}, { versions: ['v1'] })]))),
  );
const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .map((value) => value.replaceAll(/\p{C}/gu, '-'));
const anyJson = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);

/** What is asked of the server; one that is refused leaves everything as it is. */
type Step = { readonly method: string; readonly path: string; readonly body?: JsonObject; readonly type?: string };

const apiStep = fc
  .record({
    id: apiId,
    kind: fc.constantFrom('oas', 'streams'),
    path: fc.constantFrom('/one/', '/two/', '/three/', '/four/'),
    active: fc.boolean(),
    name: text,
    tags: fc.option(fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }), { nil: undefined }),
    more: anyJson,
    replaces: fc.boolean(),
  })
  .map(({ id, kind, path, active, name, tags, more, replaces }): Step => {
    const document = named(id, {
      info: { name, state: { active, internal: !active } },
      server: { ...listenAt(path).server, ...(tags ? { gatewayTags: { enabled: true, tags } } : {}) },
    });
    const route = `/api/apis/${kind}`;
    const body = { ...document, 'x-more': more };
    return replaces
      ? { method: 'PUT', path: `${route}/${id}`, body, type: kind }
      : { method: 'POST', path: route, body, type: kind };
  });

const policyStep = fc
  .record({
    id: policyId,
    access_rights: rights,
    rate: fc.nat(9),
    per: fc.nat(9),
    tags: fc.array(text, { maxLength: 2 }),
  })
  .map(
    ({ id, ...document }): Step => ({
      method: 'POST',
      path: '/api/policies',
      body: { id, name: `the ${id}`, ...document },
    }),
  );

const keyStep = fc
  .record({
    alias: text,
    apply_policies: fc.uniqueArray(policyId, { maxLength: 2 }),
    access_rights: rights,
    expires: fc.nat(9),
  })
  .map((body): Step => ({ method: 'POST', path: '/api/keys', body }));

const classicStep = fc
  .record({ api_id: apiId, name: text, active: fc.boolean(), listen_path: fc.constantFrom('/one/', '/two/', '/five/') })
  .map(({ listen_path, ...own }): Step => {
    const proxy = { listen_path, target_url: 'http://127.0.0.1:9/', strip_listen_path: true };
    return { method: 'POST', path: '/api/apis', body: { ...own, use_keyless: true, proxy } };
  });

const webhookStep = fc
  .record({ id: fc.constantFrom('ops', 'on-call'), name: text, enabled: fc.boolean(), secret: fc.constant('') })
  .map(
    (document): Step => ({ method: 'POST', path: '/api/webhooks', body: { ...document, url: 'http://127.0.0.1:9/' } }),
  );

const deleteStep = fc.oneof(
  apiId.map((id): Step => ({ method: 'DELETE', path: `/api/apis/${id}` })),
  policyId.map((id): Step => ({ method: 'DELETE', path: `/api/policies/${id}?force=true` })),
);

const setStep = fc
  .record({ id: policyId, owner: fc.constantFrom('shop', 'till'), takeOver: fc.boolean() })
  .map(({ id, owner, takeOver }): Step => {
    const objects = [{ kind: 'policy', id, document: { name: `the ${id}`, rate: 1 } }];
    return { method: 'POST', path: '/api/config/apply', body: { objects, owner, takeOver } };
  });

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: apiStep },
    { weight: 3, arbitrary: policyStep },
    keyStep,
    deleteStep,
    setStep,
    webhookStep,
    classicStep,
  ),
  { minLength: 4, maxLength: 20 },
);

const runStep = ({ call }: TestManagement, { method, path, body, type }: Step) =>
  call(method, path, body && JSON.stringify(body), type === 'streams' ? { 'content-type': streamsType } : json);

type Shown = {
  readonly kind: string;
  readonly id: string;
  readonly labels?: JsonObject;
  readonly document: JsonObject;
};

const objectsOf = async ({ call }: TestManagement): Promise<readonly Shown[]> =>
  (await call('GET', '/api/config')).json['objects'] as unknown as readonly Shown[];

/** Over what gateways run, without the ids of the storage and what the server fills in. */
async function snapshotDigest({ call }: TestManagement): Promise<string> {
  const { objects } = (await call('GET', '/api/config?form=snapshot')).json as unknown as {
    readonly objects: Readonly<
      Record<
        string,
        { readonly kind: string; readonly body: { readonly apiKind?: string; readonly document: JsonObject } }
      >
    >;
  };
  const run = Object.entries(objects).flatMap(([key, { kind, body }]) =>
    kind === 'organisation' ? [] : [[key, body.apiKind ?? '', portable(kind as SetKind, body.document)] as const],
  );
  return canonicalSha256(run.toSorted(([a], [b]) => (a < b ? -1 : 1)).map((entry) => [...entry]));
}

describe('an export', () => {
  const form = fc.constantFrom('folder/', 'one.yaml', 'one.json');

  it('applied where it came from is no change; applied where nothing was, it makes the same objects and the same snapshot', async () => {
    let isSeenElsewhere = false;
    await fc.assert(
      fc.asyncProperty(steps, form, fc.boolean(), async (list, output, hasCertificate) => {
        using folder = temporaryFolder('svc-export-');
        await using full = await startTestManagement({ isInstalled: true });
        await using empty = await startTestManagement({ isInstalled: true });
        const run = ({ url, token }: TestManagement, ...args: readonly string[]) =>
          svc(args, { env: { SVC_URL: url, SVC_TOKEN: token }, workingDirectory: folder.path });
        for (const step of list) expect((await runStep(full, step)).status).to.be.below(500);
        if (hasCertificate) await full.call('POST', '/api/certs', chainOf('shop.example').leaf.certificate, pem);

        const made = await run(full, 'export', '-o', output);
        expect(made.code, made.err).to.equal(0);
        const valid = await run(full, 'validate', output);
        // An empty set may as well be the wrong folder: nobody validates, applies or prunes by it.
        const isEmpty = (await objectsOf(full)).length === 0;
        expect(valid.code, valid.out + valid.err).to.equal(isEmpty ? 2 : 0);
        if (isEmpty) return;

        const head = await full.store.head();
        const again = await run(full, 'apply', '--owner', 'anyone', output);
        expect([again.code, again.out], again.err).to.deep.equal([0, 'created 0\nupdated 0\ndeleted 0\n']);
        expect(await full.store.head()).to.equal(head);

        // Rights may name what is gone by now; an empty server refuses what the full one would refuse today.
        const elsewhere = await run(empty, 'apply', output);
        if (elsewhere.code !== 0) {
          expect(elsewhere.err).to.match(/there are no (APIs|policies)/);
          return;
        }
        isSeenElsewhere = true;
        const [from, to] = await Promise.all([full, empty].map(objectsOf));
        const shown = (objects: readonly Shown[] = []) => objects.map(({ kind, id }) => `${kind} ${id}`);
        expect(shown(to)).to.deep.equal(shown(from));
        expect(await snapshotDigest(empty)).to.equal(await snapshotDigest(full));
        expect((await run(empty, 'diff', output)).code).to.equal(0);
      }),
      { examples: [[[], 'folder/', false]], numRuns: Number(process.env['SVC_TEST_RUNS'] ?? 12) },
    );
    expect(isSeenElsewhere).to.equal(true);
  }).timeout(120_000);

  it('keeps what YAML reads in its own way', async () => {
    using folder = temporaryFolder('svc-export-');
    await using full = await startTestManagement({ isInstalled: true });
    const odd = {
      a: 'yes',
      b: '0o7',
      c: '1e3',
      d: 'null',
      e: '2001-01-01',
      f: ' x',
      g: 'x\ny',
      h: '---',
      i: '<<',
      j: '',
    };
    await runStep(full, { method: 'POST', path: '/api/apis/oas', body: { ...named('odd'), 'x-odd': odd } });
    const run = (...args: readonly string[]) =>
      svc(args, { env: { SVC_URL: full.url, SVC_TOKEN: full.token }, workingDirectory: folder.path });
    await run('export', '-o', 'one.yaml');
    expect(await run('diff', 'one.yaml')).to.deep.equal({ code: 0, out: 'created 0\nupdated 0\ndeleted 0\n', err: '' });
    writeFileSync(folder.file('bare.yaml'), JSON.stringify({ ...named('odd'), 'x-odd': { ...odd, a: 'no' } }));
    const other = await run('diff', 'bare.yaml');
    expect(other.code, other.err).to.equal(2);
  });
});
