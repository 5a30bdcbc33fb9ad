/** The index of sessions: what a key in the configuration comes to, for whom, and when it is made anew. */
import { expect } from 'chai';
import type { JsonObject } from '../../../../domain/event.ts';
import { toOrgId } from '../../../../domain/ids.ts';
import type { KeySession } from '../../../../gateway/access/session.ts';
import { Sessions } from '../../../../gateway/access/sessions.ts';
import { hold } from '../../../../gateway/feed/held.ts';
import { keyId, MemoryFeed } from '../../../support/gateway-feed.ts';
import { listLog } from '../../../support/gateway-start.ts';

const acme = toOrgId('acme');
const rights = { a: {} };

function given() {
  const [feed, log] = [new MemoryFeed(), listLog()];
  const sessions = new Sessions(log);
  const find = (key = 'the-key', orgId = acme): KeySession | undefined => {
    sessions.swap(hold(feed.current));
    return sessions.find(key, orgId);
  };
  return { feed, log, sessions, find };
}

const sessionOf = (document: JsonObject, policies: Readonly<Record<string, JsonObject>> = {}) => {
  const { feed, find, log } = given();
  feed.putKey('the-key', document);
  for (const [id, policy] of Object.entries(policies)) feed.putPolicy(id, policy);
  return { session: find(), log };
};

describe('the session of a key', () => {
  it('has what the document says', () => {
    const document = {
      ...{ alias: 'till 7', tags: ['shop'], meta_data: { desk: 7 }, expires: 1_900_000_000, access_rights: rights },
      ...{ rate: 10, per: 2, throttle_interval: 0.5, throttle_retry_limit: 3, quota_max: 100, quota_renewal_rate: 60 },
    };
    const { session } = sessionOf(document);
    expect(session).to.deep.include({
      ...{ keyId: keyId('the-key'), orgId: 'acme', alias: 'till 7', tags: ['shop'], metadata: { desk: 7 } },
      ...{ isInactive: false, expiresAt: 1_900_000_000_000, allowsAllApis: false },
      limits: {
        ...{ rate: { rate: 10, perMs: 2_000, counter: `key:${keyId('the-key')}` } },
        ...{ throttle: { intervalMs: 500, retries: 3 } },
        quota: { max: 100, renewalMs: 60_000, counter: `quota:${keyId('the-key')}:`, alarms: [] },
      },
    });
    expect([...(session?.rights.keys() ?? [])]).to.deep.equal(['a']);
    expect(Object.isFrozen(session)).to.equal(true);
  });

  it('knows versions, addresses and endpoints of an API', () => {
    const { session } = sessionOf({
      access_rights: {
        a: {
          versions: ['v1'],
          allowed_urls: [{ url: '/x', methods: ['GET'] }],
          endpoints: [{ path: '/x/{id}', methods: [{ name: 'GET', limit: { rate: 2, per: 1 } }] }],
        },
      },
    });
    const right = session?.rights.get('a');
    expect([...(right?.versions ?? [])]).to.deep.equal(['v1']);
    expect(right?.grants?.map((grant) => grant('GET', '/x'))).to.deep.equal([true]);
    expect(right?.endpoint?.('GET', '/x/1')?.rate).to.deep.equal({ rate: 2, perMs: 1_000 });
  });

  const policies: readonly [
    name: string,
    key: JsonObject,
    policies: Record<string, JsonObject>,
    expected: JsonObject,
  ][] = [
    ['an active one', {}, { gold: { access_rights: rights } }, { apis: ['a'], isInactive: false }],
    ['a draft', {}, { gold: { access_rights: rights, state: 'draft' } }, { apis: [], isInactive: false }],
    ['one that denies', {}, { gold: { access_rights: rights, state: 'deny' } }, { apis: [], isInactive: true }],
    ['a missing one', {}, {}, { apis: [], isInactive: false }],
    ['a missing one beside own rights', { access_rights: { b: {} } }, {}, { apis: ['b'], isInactive: false }],
  ];
  for (const [name, key, named, expected] of policies) {
    it(`follows its policy: ${name}`, () => {
      const { session } = sessionOf({ ...key, apply_policies: ['gold'] }, named);
      expect({ apis: [...(session?.rights.keys() ?? [])], isInactive: session?.isInactive }).to.deep.equal(expected);
    });
  }

  it('ends with its policy, counted from the creation of the key', () => {
    const { session } = sessionOf({ apply_policies: ['gold'] }, { gold: { key_expires_in: 60 } });
    expect(session?.expiresAt).to.equal(Date.parse('2026-01-01T00:01:00.000Z'));
  });
});

describe('the index of sessions', () => {
  it('does not know a key of another organisation', () => {
    const { feed, find } = given();
    feed.putKey('the-key', { access_rights: rights }, { orgId: 'other' });
    expect(find()).to.equal(undefined);
    expect(find('the-key', toOrgId('other'))).to.include({ orgId: 'other' });
  });

  it('takes nothing from a policy of another organisation', () => {
    const { feed, find } = given();
    feed.putKey('the-key', { apply_policies: ['gold'] });
    feed.putPolicy('gold', { access_rights: rights }, 'other');
    expect([...(find()?.rights.keys() ?? ['none'])]).to.deep.equal([]);
  });

  it('does not take the entry of a basic user for a key', () => {
    const { feed, find } = given();
    const text = 'basic\nacme\nann';
    feed.putKey(text, { access_rights: rights, basic_auth_data: { user: 'ann', password_hash: '***' } });
    expect(find(text)).to.equal(undefined);
  });

  const unknown = ['', 'the-ke', 'the-key ', keyId('the-key'), '__proto__', 'constructor'];
  for (const text of unknown) {
    it(`does not know "${text}"`, () => {
      const { feed, find } = given();
      feed.putKey('the-key', {});
      expect(find(text)).to.equal(undefined);
    });
  }

  it('makes a session once, also while other keys change', () => {
    const { feed, find } = given();
    feed.putKey('the-key', { apply_policies: ['gold'] });
    feed.putPolicy('gold', { access_rights: rights });
    const first = find();
    feed.putKey('another-key', {});
    feed.putPolicy('silver', {});
    expect(find()).to.equal(first);
  });

  it('makes it anew when the key changes, and forgets it when it is deleted', () => {
    const { feed, find } = given();
    feed.putKey('the-key', { alias: 'one' });
    expect(find()?.alias).to.equal('one');
    feed.putKey('the-key', { alias: 'two' });
    expect(find()?.alias).to.equal('two');
    feed.removeKey('the-key');
    expect(find()).to.equal(undefined);
  });

  it('makes it anew when a policy of it comes, changes and goes', () => {
    const { feed, find } = given();
    feed.putKey('the-key', { apply_policies: ['gold'] });
    const apis = () => [...(find()?.rights.keys() ?? [])];
    expect(apis()).to.deep.equal([]);
    feed.putPolicy('gold', { access_rights: { a: {} } });
    expect(apis()).to.deep.equal(['a']);
    feed.putPolicy('gold', { access_rights: { b: {} } });
    expect(apis()).to.deep.equal(['b']);
    feed.removePolicy('gold');
    expect(apis()).to.deep.equal([]);
  });

  it('has what a policy grants in common with the other keys of the policy, and counters of its own', () => {
    const { feed, sessions } = given();
    const allowed = { allowed_urls: [{ url: '/x' }], limit: { rate: 2, per: 1 } };
    feed.putPolicy('gold', { access_rights: { a: allowed, b: {} } });
    for (const key of ['one-key', 'other-key']) feed.putKey(key, { apply_policies: ['gold'] });
    sessions.swap(hold(feed.current));
    const one = sessions.find('one-key', acme)?.rights.get('a');
    // What does not concern the policy leaves it as it is.
    feed.putPolicy('silver', {});
    sessions.swap(hold(feed.current));
    const other = sessions.find('other-key', acme)?.rights.get('a');
    expect(one?.grants).to.have.length(1);
    expect(one?.grants).to.equal(other?.grants);
    expect([one, other].map((right) => right?.limits.rate?.counter)).to.deep.equal(
      ['one-key', 'other-key'].map((key) => `key:${keyId(key)}:api:a`),
    );
    feed.putPolicy('gold', { access_rights: { b: {} } });
    sessions.swap(hold(feed.current));
    expect(['one-key', 'other-key'].map((key) => sessions.find(key, acme)?.rights.has('a'))).to.deep.equal([
      false,
      false,
    ]);
  });

  it('mixes policies for each organisation by itself, however often', () => {
    const { feed, sessions } = given();
    feed.putPolicy('gold', { access_rights: { a: {} } });
    feed.putKey('ours', { apply_policies: ['gold'] });
    feed.putKey('theirs', { apply_policies: ['gold'] }, { orgId: 'other' });
    for (let number = 0; number < 1_200; number++) feed.putKey(`key-${number}`, { apply_policies: [`p${number}`] });
    sessions.swap(hold(feed.current));
    for (let number = 0; number < 1_200; number++) sessions.find(`key-${number}`, acme);
    expect([...(sessions.find('theirs', toOrgId('other'))?.rights.keys() ?? ['none'])]).to.deep.equal([]);
    expect([...(sessions.find('ours', acme)?.rights.keys() ?? [])]).to.deep.equal(['a']);
  });

  const broken: readonly [name: string, key: JsonObject, policy: JsonObject][] = [
    ['rights that are a list', { access_rights: ['a'] }, {}],
    ['a right that is a text', { access_rights: { a: 'all' } }, {}],
    ['addresses that are a text', { access_rights: { a: { allowed_urls: '/x' } } }, {}],
    ['an address without url', { access_rights: { a: { allowed_urls: [{ methods: ['GET'] }] } } }, {}],
    ['versions that are a text', { access_rights: { a: { versions: 'v1' } } }, {}],
    ['an end that is a text', { access_rights: rights, expires: 'soon' }, {}],
    ['a switch that is a text', { access_rights: rights, is_inactive: 'true' }, {}],
    ['a rate that is a text', { access_rights: rights, rate: '5', per: 1 }, {}],
    ['policies that are a text', { access_rights: rights, apply_policies: 'gold' }, {}],
    ['a policy that has a rate in words', { access_rights: rights, apply_policies: ['gold'] }, { rate: 'five' }],
    ['a policy whose state is a number', { access_rights: rights, apply_policies: ['gold'] }, { state: 1 }],
  ];
  for (const [name, key, policy] of broken) {
    it(`lets nobody in with ${name}, and says so`, () => {
      const { session, log } = sessionOf(key, { gold: policy });
      expect(session).to.equal(undefined);
      expect(log.lines.map(({ level, message }) => `${level}: ${message}`)).to.deep.equal([
        'error: an access key cannot be read and lets nobody in',
      ]);
    });
  }
});
