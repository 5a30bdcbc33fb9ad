/** What `svc config` says of keys, and what it must not show. */
import { expect } from 'chai';
import { ConfigurationError } from '../../../../src/config/errors.ts';
import { effective, environmentNames, explain } from '../../../../src/config/explain.ts';
import { loadSettings } from '../../../../src/config/load.ts';

const token = '7f3a9c51e0d84b26a1c7e95f02b83d46';

const loaded = loadSettings({
  env: {
    SVC_MGMT_BOOTSTRAPTOKEN: '$env:TOKEN',
    TOKEN: token,
    SVC_STORE_URL: 'postgres://svc:hunter2@db.example/svc',
    SVC_PMP_SINKS_OUT_TYPE: 'file',
    SVC_PMP_SINKS_OUT_META: '{"path":"a.jsonl","headers":{"authorization":"Bearer abc"},"password":"hunter2"}',
    SVC_PMP_SINKS_OUT_META_TOKEN: 'hunter2',
  },
  flags: { 'gateway.listen': '127.0.0.1:9999' },
});

describe('explain', () => {
  it('gives value, source, default, variable and meaning', () => {
    expect(explain('gateway.listen', loaded)).to.deep.equal([
      {
        key: 'gateway.listen',
        value: '127.0.0.1:9999',
        source: '--set',
        default: '0.0.0.0:8080',
        variable: 'SVC_GW_LISTEN',
        meaning: 'Address of the proxy listener. Written host:port; port 0 takes a free one.',
      },
    ]);
  });

  it('gives all keys of a section, those without a value too', () => {
    const gateway = explain('gateway', loaded);
    expect(gateway.map(({ key }) => key)).to.include.members(['gateway.node_id', 'gateway.tags']);
    expect(gateway.find(({ key }) => key === 'gateway.node_id')).to.include({ source: 'not set', value: undefined });
  });

  it('shows a secret as *** with the way it came', () => {
    const [row] = explain('management.bootstrap_token', loaded);
    expect(row).to.include({ value: '***', source: 'SVC_MGMT_BOOTSTRAPTOKEN → $env:TOKEN' });
  });

  it('names the nearest key when it knows none', () => {
    expect(() => explain('gateway.lisen', loaded)).to.throw(ConfigurationError, 'did you mean gateway.listen?');
  });
});

describe('effective', () => {
  it('shows everything that runs and no secret, however deep', () => {
    const text = JSON.stringify(effective(loaded));
    expect(text).to.include('127.0.0.1:9999').and.include('a.jsonl').and.include('postgres://***@db.example/svc');
    expect(text)
      .not.to.match(/hunter2|Bearer abc/)
      .and.not.to.include(token);
  });
});

describe('environmentNames', () => {
  it('lists every key once with its variable', () => {
    const rows = environmentNames();
    expect(new Set(rows.map(({ variable }) => variable)).size).to.equal(rows.length);
    expect(rows).to.deep.include.members([
      {
        variable: 'SVC_GW_GRACEFULSHUTDOWNDELAYSECONDS',
        key: 'gateway.graceful_shutdown_delay_seconds',
        meaning: 'How long to accept after readiness has failed. A bare number means seconds.',
      },
    ]);
    expect(rows.map(({ key }) => key)).to.include('pump.sinks.<name>.batch.wait');
  });
});
