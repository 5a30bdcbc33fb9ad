/** Who may do what, and requests that no route takes. */
import { expect } from 'chai';
import { toOrgId } from '../../domain/ids.ts';
import { tokenSha256 } from '../../src/management/authenticate.ts';
import { apiDocument, openApi } from '../support/documents.ts';
import { type Case, json, known, listenAt, refuse, startWithTwoApis, streams } from '../support/management-refusals.ts';
import { bearer, orgId, type TestManagement } from '../support/management-server.ts';

const viewer = 'svct_viewer_0123456789abcdef0123456789abcdef';
const stranger = 'svct_stranger_0123456789abcdef0123456789abc';
const foreignCert = `${'a'.repeat(24)}${'0'.repeat(64)}`;

const access: readonly Case[] = [
  {
    name: 'no token',
    send: ['GET', known, undefined, { authorization: '' }],
    status: 401,
    code: 'unauthorised',
    text: 'Not authorised',
  },
  {
    name: 'a wrong token',
    send: ['PATCH', known, '{', { ...bearer('wrong'), ...json }],
    status: 401,
    code: 'unauthorised',
    text: 'Not authorised',
  },
  {
    name: 'a token without the scope',
    send: ['PATCH', known, '{', { ...bearer(viewer), ...json }],
    status: 403,
    code: 'scope_missing',
    text: `access denied: You do not have permission to access  ${known}`,
  },
  {
    name: 'a token of another organisation, reading',
    send: ['GET', known, undefined, bearer(stranger)],
    status: 404,
    code: 'api_unknown',
    text: 'API not found.',
  },
  {
    name: 'a token of another organisation, writing',
    send: ['PATCH', known, openApi(), bearer(stranger)],
    status: 404,
    code: 'api_unknown',
    text: 'API not found.',
  },
  {
    name: 'a token of another organisation, reading history',
    send: ['GET', '/api/apis/known/revisions', undefined, bearer(stranger)],
    status: 404,
    code: 'api_unknown',
    text: 'API not found.',
  },
  {
    name: 'a token of another organisation, reading a revision',
    send: ['GET', '/api/apis/known/revisions/0', undefined, bearer(stranger)],
    status: 404,
    code: 'api_unknown',
    text: 'API not found.',
  },
  {
    name: 'the path of a foreign API, which is not named',
    send: ['POST', streams, apiDocument({ info: { id: 'mine' }, ...listenAt('/known/') }), bearer(stranger)],
    status: 409,
    code: 'route_taken',
    text: 'Found API with same url. Listen path "/known" is taken.',
  },
];

const others: readonly Case[] = [
  {
    name: 'a path that is not there',
    send: ['GET', '/api/nothing'],
    status: 404,
    code: 'route_unknown',
    text: 'There is nothing at /api/nothing',
  },
  {
    name: 'a path in other letters',
    send: ['GET', '/API/apis'],
    status: 404,
    code: 'route_unknown',
    text: 'There is nothing at /API/apis',
  },
  {
    name: 'a method that is not there',
    send: ['PUT', '/api/certs', '{}', json],
    status: 405,
    code: 'method_not_allowed',
    text: 'PUT is not possible at /api/certs',
  },
  {
    name: 'an unknown parameter',
    send: ['GET', '/api/audit?actr=x'],
    status: 400,
    code: 'query_invalid',
    text: 'actr: unknown parameter, did you mean "actor"?',
  },
  {
    name: 'a limit beyond bounds',
    send: ['GET', '/api/audit?limit=501'],
    status: 400,
    code: 'query_invalid',
    text: 'limit: must be a whole number from 1 to 500',
  },
  {
    name: 'a cursor that is none',
    send: ['GET', '/api/audit?after=x'],
    status: 400,
    code: 'query_invalid',
    text: 'after: is no cursor of this list',
  },
  {
    name: 'a cursor of the catalogue that is none',
    send: ['GET', '/api/apis?after=x'],
    status: 400,
    code: 'query_invalid',
    text: 'after: is no cursor of this list',
  },
  {
    name: 'a revision to wait for that is none',
    send: ['GET', '/api/apis?minRevision=x'],
    status: 400,
    code: 'query_invalid',
    text: /^minRevision/,
  },
  { name: 'a time that is none', send: ['GET', `${known}?at=yesterday`], status: 400, code: 'at_invalid', text: /^at/ },
  {
    name: 'a page that is no number',
    send: ['GET', '/api/certs?p=x'],
    status: 400,
    code: 'query_invalid',
    text: /^Could not retrieve certs\. p: /,
  },
  {
    name: 'an unknown mode',
    send: ['GET', '/api/certs?mode=more'],
    status: 400,
    code: 'query_invalid',
    text: 'Could not retrieve certs. mode: must be one of detailed',
  },
  {
    name: 'an unknown certificate',
    send: ['GET', `/api/certs/${'0'.repeat(64)}`],
    status: 404,
    code: 'certificate_unknown',
    text: 'Certificate with given SHA256 fingerprint not found',
  },
  {
    name: 'an unknown certificate to delete',
    send: ['DELETE', '/api/certs/nothing'],
    status: 404,
    code: 'certificate_unknown',
    text: 'Certificate with given SHA256 fingerprint not found',
  },
  {
    name: 'a certificate that names another organisation',
    send: ['GET', `/api/certs/${foreignCert}`],
    status: 400,
    code: 'certificate_foreign',
    text: 'Attempted access to non-owned certificate.',
  },
  {
    name: 'a rollback without revision',
    send: ['POST', '/api/apis/known/rollback', '{}', json],
    status: 400,
    code: 'body_malformed',
    text: 'request malformed: revision must be a whole number from 0',
  },
  {
    name: 'a revision that is no number',
    send: ['GET', '/api/apis/known/revisions/x'],
    status: 404,
    code: 'revision_unknown',
    text: 'A revision is a whole number from 0',
  },
];

const credentials = [
  {
    actor: { type: 'token', id: 'viewer' },
    orgId,
    scopes: new Set(['apis:read'] as const),
    sha256: tokenSha256(viewer),
  },
  {
    actor: { type: 'token', id: 'stranger' },
    orgId: toOrgId('b'.repeat(24)),
    scopes: 'all',
    sha256: tokenSha256(stranger),
  },
] as const;

describe('the management API', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis({ credentials });
  });
  after(() => management[Symbol.asyncDispose]());

  describe('refuses', () => refuse(access, () => management));
  describe('has no answer to', () => refuse(others, () => management));

  it('challenges, and says whether a token was sent', async () => {
    const challenge = async (authorization: string) =>
      (await management.call('GET', known, undefined, { authorization })).headers.get('www-authenticate');
    expect(await challenge('')).to.equal('Bearer realm="svc"');
    expect(await challenge('Bearer wrong')).to.equal('Bearer realm="svc", error="invalid_token"');
  });

  it('takes a token without the word Bearer', async () => {
    const answer = await management.call('GET', known, undefined, { authorization: management.token });
    expect(answer.status).to.equal(200);
  });

  it('lets a token read what it may not write', async () => {
    expect((await management.call('GET', known, undefined, bearer(viewer))).status).to.equal(200);
  });

  const remarks: readonly [path: string, count: string, said: string | null][] = [
    ['/api/keys?tags=x', '1', '/query/tags: unknown parameter, did you mean "tag"?'],
    ['/api/keys?tag=x', '', null],
    ['/api/certs?zzzzzz=1&zzzzzz=2', '1', '/query/zzzzzz: unknown parameter'],
    ['/api/policies?%C3%A4%0Abcdefg=1', '1', '/query/%C3%A4%0Abcdefg: unknown parameter'],
    ['/api/apis?a1111111=&b1111111=', '2', '/query/a1111111: unknown parameter; /query/b1111111: unknown parameter'],
  ];
  for (const [path, count, said] of remarks) {
    it(`remarks on parameters that a documented route does not know: ${path}`, async () => {
      const { status, headers } = await management.call('GET', path);
      expect(status).to.equal(200);
      expect(headers.get('x-svc-warnings') ?? '').to.equal(count);
      expect(headers.get('x-svc-warning')).to.equal(said);
    });
  }

  for (const path of [
    ...['/api/apis', known, '/api/apis/known/revisions', '/api/apis/known/revisions/0', '/api/apis/known/chain'],
    ...['/api/apis/known/diff?from=0', '/api/apis/known/rollout', '/api/certs', '/api/keys', '/api/policies'],
    ...['/api/tokens', '/api/audit', '/api/audit/1', '/api/config', '/api/config/diff?from=1', '/api/organisations'],
    '/api/gateways',
  ]) {
    it(`waits for a revision that is there and not for one that is none: ${path}`, async () => {
      const at = `${path}${path.includes('?') ? '&' : '?'}minRevision=`;
      expect((await management.call('GET', `${at}1`)).status).to.equal(200);
      const answer = await management.call('GET', `${at}soon`);
      expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([400, 'query_invalid']);
    });
  }

  describe('in its log', () => {
    it('has a line for each refusal, no fault and no token', () => {
      const { lines } = management.log;
      expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
      const codes = new Set(lines.map(({ fields }) => (fields as { readonly code?: string }).code));
      for (const { code } of [...access, ...others]) expect(codes).to.include(code);
      expect(JSON.stringify(lines)).not.to.contain(management.token);
    });
  });
});
