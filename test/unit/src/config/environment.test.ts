/** Names of settings in the environment. */
import { expect } from 'chai';
import { readEnvironment } from '../../../../src/config/environment.ts';
import { configKeys } from '../../../../src/config/keys.ts';
import type { Tree } from '../../../../src/config/tree.ts';

const paths = (env: Record<string, string>, known: Tree = {}): readonly string[] =>
  readEnvironment(env, known).assignments.map(({ path, text }) => `${path.join('.')}=${text}`);

describe('environment names', () => {
  it('reach every fixed key by the documented name', () => {
    const fixed = configKeys().filter(({ path }) => !path.includes('*'));
    expect(fixed).to.have.length.above(30);
    for (const { path, variable } of fixed) expect(paths({ [variable]: 'v' })).to.deep.equal([`${path}=v`]);
  });

  it('reach every key with a name of the user by the documented name', () => {
    const named = configKeys().filter(({ path, isFree }) => path.includes('*') && !isFree);
    for (const { path, variable } of named) {
      expect(paths({ [variable.replace('<NAME>', 'PG')]: 'v' })).to.deep.equal([`${path.replace('*', 'pg')}=v`]);
    }
  });

  const cases: readonly [variable: string, known: Tree, path: string][] = [
    ['SVC_GW_MAX_HEADER_BYTES', {}, 'gateway.max_header_bytes'],
    ['SVC_GW_MAXHEADERBYTES', {}, 'gateway.max_header_bytes'],
    ['SVC_MGMT_RATELIMIT_BURST', {}, 'management.rate_limit.burst'],
    ['SVC_STORE_SECRETSMASTERKEYFILE', {}, 'store.secrets.master_key_file'],
    ['SVC_PMP_SINKS_PG_META_FORMAT', {}, 'pump.sinks.pg.meta.format'],
    [
      'SVC_PMP_SINKS_PG_META_CONNECTIONSTRING',
      { pump: { sinks: { pg: { meta: { connection_string: 'x' } } } } },
      'pump.sinks.pg.meta.connection_string',
    ],
    ['SVC_PMP_SINKS_PG_META_MAXBYTES', {}, 'pump.sinks.pg.meta.max_bytes'],
    ['SVC_PMP_SINKS_MY_SINK_TYPE', { pump: { sinks: { 'my-sink': {} } } }, 'pump.sinks.my-sink.type'],
    ['SVC_MGMT_ROLES_CI', {}, 'management.roles.ci'],
    ['SVC_MGMT_ROLES_MY_ROLE', { management: { roles: { 'my-role': [] } } }, 'management.roles.my-role'],
    ['SVC_PMP_SINKS_MYSINK_TYPE', { pump: { sinks: { my_sink: {} } } }, 'pump.sinks.my_sink.type'],
  ];
  for (const [variable, known, path] of cases) {
    it(`${variable} is ${path}`, () => expect(paths({ [variable]: 'v' }, known)).to.deep.equal([`${path}=v`]));
  }

  it('are left alone when they belong to no section', () => {
    const { assignments, warnings } = readEnvironment(
      { SVC_URL: 'u', SVC_TEST_REDIS: 'r', HOME: '/', GW_LISTEN: 'x' },
      {},
    );
    expect({ assignments, warnings }).to.deep.equal({ assignments: [], warnings: [] });
  });

  it('are warned about with the nearest name when unknown', () => {
    const { assignments, warnings } = readEnvironment({ SVC_GW_LISTEM: 'x', SVC_REDIS_URL: 'redis:' }, {});
    expect(assignments).to.deep.equal([]);
    expect(warnings[0]).to.equal('SVC_GW_LISTEM is not a setting; did you mean SVC_GW_LISTEN? It is ignored.');
    expect(warnings[1]).to.match(/^SVC_REDIS_URL is not a setting/);
  });

  it('are an error when two spellings of one key differ', () => {
    const { problems } = readEnvironment({ SVC_GW_TAGS: 'a', SVC_GW_T_AGS: 'b' }, {});
    expect(problems).to.have.length(1);
    expect(problems[0]).to.match(/SVC_GW_TAGS and SVC_GW_T_AGS are the same key \(gateway\.tags\)/);
    expect(readEnvironment({ SVC_GW_TAGS: 'a', SVC_GW_T_AGS: 'a' }, {}).problems).to.deep.equal([]);
  });
});
