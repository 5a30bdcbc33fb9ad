/** The configuration of a process: defaults, precedence, units, references, and everything that stops a start. */
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { defaultRecording } from '../../../../domain/record-detail.ts';
import { ConfigurationError } from '../../../../src/config/errors.ts';
import { type Loaded, type LoadOptions, loadSettings } from '../../../../src/config/load.ts';
import type { Settings } from '../../../../src/config/settings.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const load = (options: Partial<LoadOptions> = {}): Loaded => loadSettings({ env: {}, ...options });

function loadFile(text: string, options: Partial<LoadOptions> = {}, name = 'svc.yaml'): Loaded {
  using folder = temporaryFolder();
  writeFileSync(folder.file(name), text);
  return load({ file: folder.file(name), ...options });
}

function refused(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
  throw new Error('It was accepted.');
}

const goodToken = '7f3a9c51e0d84b26a1c7e95f02b83d46';

describe('loadSettings', () => {
  it('gives every setting its default, paths under the data folder', () => {
    const { settings, warnings } = load({ dataDirectory: '/srv/svc' });
    expect(warnings).to.deep.equal([]);
    expect(settings.store).to.deep.equal({
      url: 'sqlite:/srv/svc/events.db',
      maxEventBytes: 4_194_304,
      personalDataMonths: 13,
      secrets: { masterKeyFile: '/srv/svc/master.key', masterKeys: [] },
    });
    expect(settings.management).to.deep.equal({
      listen: { host: '127.0.0.1', port: 3000 },
      bootstrapToken: undefined,
      anchorCopy: undefined,
      bodyLimitBytes: 4_194_304,
      certExpiryDays: [60, 30, 14, 7, 1],
      pageSize: 10,
      publicGateways: [],
      rateLimit: { rate: 1000, burst: 2000 },
      roles: {},
      metricsArePublic: undefined,
      trustedProxies: [],
      trustedActorHeader: undefined,
      tls: { certFile: undefined, keyFile: undefined },
    });
    expect(settings.gateway).to.deep.include({
      listen: { host: '0.0.0.0', port: 8080 },
      controlListen: { host: '127.0.0.1', port: 8081 },
      underscoreHeaders: 'guard',
      maxHeaderBytes: 32_768,
      maxUrlBytes: 8192,
      cacheBytes: 268_435_456,
      cacheEntryBytes: 1_048_576,
      gracefulShutdownDelayMs: 0,
      gracefulShutdownTimeoutMs: 30_000,
    });
    expect(settings.analytics).to.deep.equal({
      enabled: true,
      url: 'embedded:/srv/svc/analytics',
      frame: { records: 500, bytes: 262_144, waitMs: 100 },
      bufferBytes: 33_554_432,
      recording: defaultRecording,
      maxBytes: 8_589_934_592,
      maxAgeMs: 604_800_000,
      fsync: 200,
    });
    expect(settings.pump).to.deep.equal({ listen: { host: '127.0.0.1', port: 8083 }, sinks: {} });
    expect(settings.telemetry).to.deep.equal({
      log: { level: 'info', destination: 'stderr' },
    });
  });

  it('takes the flag over the environment over the file over the default, and says which it was', () => {
    const file = 'gateway:\n  listen: 127.0.0.1:1001\n  control_listen: 127.0.0.1:1002\n  max_url_bytes: 4KiB\n';
    const env = { SVC_GW_LISTEN: '127.0.0.1:2001', SVC_GW_CONTROLLISTEN: '127.0.0.1:2002' };
    const { settings, sources } = loadFile(file, { env, flags: { 'gateway.listen': '127.0.0.1:3001' } });
    expect(settings.gateway.listen.port).to.equal(3001);
    expect(settings.gateway.controlListen.port).to.equal(2002);
    expect(settings.gateway.maxUrlBytes).to.equal(4096);
    expect(settings.gateway.maxHeaderBytes).to.equal(32_768);
    expect(sources.get('gateway.listen')?.name).to.equal('--set');
    expect(sources.get('gateway.control_listen')?.name).to.equal('SVC_GW_CONTROLLISTEN');
    expect(sources.get('gateway.max_url_bytes')?.name).to.match(/svc\.yaml:4$/);
    expect(sources.get('gateway.max_header_bytes')?.kind).to.equal('default');
  });

  it('reads JSON too, with tabs and a $schema line', () => {
    const text = '{\n\t"$schema": "x",\n\t"management": {\n\t\t"page_size": 25\n\t}\n}';
    const { settings, sources } = loadFile(text, {}, 'svc.json');
    expect(settings.management.pageSize).to.equal(25);
    expect(sources.get('management.page_size')?.name).to.match(/svc\.json:4$/);
  });

  it('takes an empty file and empty sections for nothing set', () => {
    expect(loadFile('').settings).to.deep.equal(load().settings);
    expect(loadFile('gateway:\npump: {}\n').settings).to.deep.equal(load().settings);
  });

  it('follows $env and $file, also in lists, and remembers the way', () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('token'), `${goodToken}\n`);
    const text = `management:\n  bootstrap_token: $file:${folder.file('token')}\n  page_size: $env:PAGE\ngateway:\n  tags: [edge, $env:ZONE]\n`;
    const { settings, sources } = loadFile(text, { env: { PAGE: '20', ZONE: 'north' } });
    expect(settings.management.bootstrapToken).to.equal(goodToken);
    expect(settings.management.pageSize).to.equal(20);
    expect(settings.gateway.tags).to.deep.equal(['edge', 'north']);
    expect(sources.get('management.page_size')?.via).to.equal('$env:PAGE');
  });

  it('gives a sink its defaults and keeps its own options', () => {
    const text =
      'pump:\n  sinks:\n    out:\n      type: file\n      filters: { skip_response_codes: [404] }\n      batch: { wait: 2s }\n      meta: { path: out.jsonl, max_bytes: 2MiB, extra: [1] }\n';
    const { settings } = loadFile(text, {
      env: { SVC_PMP_SINKS_OUT_TIMEOUT: '3', SVC_PMP_SINKS_OUT_META_MAXAGEMS: '5000' },
    });
    expect(settings.pump.sinks).to.deep.equal({
      out: {
        type: 'file',
        required: false,
        start: 'earliest',
        filters: {
          apiIds: [],
          orgIds: [],
          responseCodes: [],
          skipApiIds: [],
          skipOrgIds: [],
          skipResponseCodes: [404],
        },
        ignoreFields: [],
        omitDetailedRecording: false,
        maxRecordSize: 0,
        batch: { records: 1000, bytes: 1_048_576, waitMs: 2000 },
        retry: { initialMs: 200, maxMs: 30_000, maxElapsedMs: 0 },
        timeoutMs: 3000,
        onReject: 'dlq',
        meta: { path: 'out.jsonl', max_bytes: 2_097_152, extra: [1], max_age_ms: 5000 },
      },
    });
  });

  const units: readonly [key: string, written: string, pick: (settings: Settings) => unknown, read: unknown][] = [
    ['analytics.frame.wait', '200ms', (s) => s.analytics.frame.waitMs, 200],
    ['analytics.frame.wait', '250', (s) => s.analytics.frame.waitMs, 250],
    ['analytics.max_age', '12h', (s) => s.analytics.maxAgeMs, 43_200_000],
    ['analytics.max_age', '60', (s) => s.analytics.maxAgeMs, 60_000],
    ['analytics.fsync', 'always', (s) => s.analytics.fsync, 'always'],
    ['analytics.fsync', '1s', (s) => s.analytics.fsync, 1000],
    ['gateway.graceful_shutdown_timeout_duration', '1.5m', (s) => s.gateway.gracefulShutdownTimeoutMs, 90_000],
    ['gateway.graceful_shutdown_delay_seconds', '5', (s) => s.gateway.gracefulShutdownDelayMs, 5000],
    ['gateway.max_header_bytes', '64KiB', (s) => s.gateway.maxHeaderBytes, 65_536],
    ['gateway.max_header_bytes', '2000', (s) => s.gateway.maxHeaderBytes, 2000],
    ['analytics.max_bytes', '2GB', (s) => s.analytics.maxBytes, 2_000_000_000],
    ['gateway.tags', 'a, b,', (s) => s.gateway.tags, ['a', 'b']],
    ['gateway.tags', '["a,b"]', (s) => s.gateway.tags, ['a,b']],
    ['gateway.listen', '[::1]:9000', (s) => s.gateway.listen, { host: '::1', port: 9000 }],
    ['gateway.listen', ':9000', (s) => s.gateway.listen, { host: '0.0.0.0', port: 9000 }],
    ['analytics.detail.redact_json', '$.a.b,$..c', (s) => s.analytics.recording.detail.redactJson, ['$.a.b', '$..c']],
    ['analytics.detail.content_types', 'text/*', (s) => s.analytics.recording.detail.contentTypes, ['text/*']],
    ['analytics.detail.sample', '0.25', (s) => s.analytics.recording.detail.sample, 0.25],
    ['analytics.detail.max_body_bytes', '1KiB', (s) => s.analytics.recording.detail.maxBodyBytes, 1024],
    ['analytics.detail.parts', 'req.headers', (s) => s.analytics.recording.detail.parts, ['req.headers']],
    ['analytics.detail.on_error_only', 'yes', (s) => s.analytics.recording.detail.onErrorOnly, true],
    ['analytics.enforce_org_detail', 'true', (s) => s.analytics.recording.enforceOrgDetail, true],
    ['analytics.enforce_org_retention', 'true', (s) => s.analytics.recording.enforceOrgRetention, true],
    ['analytics.enabled', 'no', (s) => s.analytics.enabled, false],
  ];
  for (const [key, written, pick, read] of units) {
    it(`reads ${key} = ${written} as ${JSON.stringify(read)}`, () => {
      expect(pick(load({ flags: { [key]: written } }).settings)).to.deep.equal(read);
    });
  }

  const faults: readonly [name: string, text: string, says: RegExp][] = [
    [
      'an unknown key',
      'gateway:\n  lisen: :1\n',
      /gateway\.lisen \(.*:2\) is not a known key; did you mean gateway\.listen\?/,
    ],
    ['a share above one', 'analytics: { detail: { sample: 2 } }\n', /analytics\.detail\.sample .*must be.* 0 to 1/],
    ['a place that is none', "analytics: { detail: { redact_json: ['a.b'] } }\n", /analytics\.detail\.redact_json/],
    ['a part that nobody knows', 'analytics: { detail: { parts: [head] } }\n', /analytics\.detail\.parts/],
    ['bodies without a bound', 'analytics: { detail: { max_body_bytes: 1GiB } }\n', /must be at most 16777216 bytes/],
    ['an unknown section', 'gatway: {}\n', /gatway \(.*:1\) is not a known key; did you mean gateway\?/],
    ['an unknown section with nothing in it', 'gatway:\n', /gatway .*did you mean gateway\?/],
    ['a key in the wrong section', 'gateway:\n  page_size: 3\n', /did you mean management\.page_size\?/],
    [
      'an unknown key of a sink',
      'pump:\n  sinks:\n    a: { type: x, filter: {} }\n',
      /pump\.sinks\.a\.filter .*did you mean pump\.sinks\.a\.filters\?/,
    ],
    [
      'an element that is no text',
      'gateway: { trusted_proxies: [10.0.0.1, 5] }\n',
      /gateway\.trusted_proxies\.1 must be a text.*, not 5\./,
    ],
    ['a sink without a type', 'pump: { sinks: { a: { required: true } } }\n', /pump\.sinks\.a\.type .*is required/],
    [
      'a sink with a name that no variable can hold',
      'pump: { sinks: { "a b": { type: x } } }\n',
      /pump\.sinks\.a b.*a name is a letter/,
    ],
    [
      'a wrong type',
      'management:\n  page_size: many\n',
      /management\.page_size \(.*:2\) must be a whole number from 1 to 500, not "many"/,
    ],
    ['a number out of range', 'management: { page_size: 501 }\n', /whole number from 1 to 500/],
    ['a value outside its list', 'gateway: { underscore_headers: off }\n', /one of guard, drop, keep/],
    ['text that is no duration', 'analytics: { max_age: 3weeks }\n', /a duration such as/],
    ['text that is no size', 'analytics: { max_bytes: 3XB }\n', /a size such as/],
    ['a size that is too small', 'gateway: { max_header_bytes: 1B }\n', /at least 1024 bytes/],
    ['a fsync that is none of its words', 'analytics: { fsync: maybe }\n', /"none", "always" or a duration/],
    ['an address without a port', 'gateway: { listen: localhost }\n', /host:port/],
    ['a port that does not exist', 'gateway: { listen: ":70000" }\n', /port above 65535/],
    ['a scalar where a section belongs', 'gateway: 8080\n', /gateway .*must be a section with keys/],
    ['a staleness that healthy gateways reach', 'gateway: { max_staleness: 30s }\n', /max_staleness.*at least 1m/],
    ['an address of management with a path', 'gateway: { management_url: "http://a/b" }\n', /management_url/],
    ['a network that is none', 'gateway: { trusted_proxies: [10.0.0.0/33] }\n', /10\.0\.0\.0\/33/],
    [
      'a body limit above the largest event',
      'management: { body_limit: 5MiB }\n',
      /must not be above store\.max_event_bytes/,
    ],
    ['a list of sections', '- a\n', /one object with sections, not a list/],
    ['text that is not YAML', 'gateway: [\n', /svc\.yaml:\d/],
    ['the same key twice', 'gateway:\n  tags: []\n  tags: [a]\n', /:3: .*unique/],
    [
      'a variable that is not set',
      'management: { page_size: $env:NOPE }\n',
      /names the variable NOPE, which is not set/,
    ],
    [
      'a file that is not there',
      'management: { bootstrap_token: $file:nowhere }\n',
      /names the file nowhere, which cannot be read/,
    ],
  ];
  for (const [name, text, says] of faults) {
    it(`stops the start at ${name}`, () => {
      expect(refused(() => loadFile(text))).to.match(says);
    });
  }

  it('names all faults at once', () => {
    expect(refused(() => loadFile('gatway: {}\nmanagement: { page_size: 0 }\n'))).to.match(
      /2 faults:.*gatway.*page_size/s,
    );
  });

  it('refuses a file that is not JSON although it would be YAML', () => {
    expect(refused(() => loadFile('{\n gateway: {}}', {}, 'svc.json'))).to.match(
      /svc\.json:2:2: not JSON: unexpected character/,
    );
  });

  it('refuses a file that does not exist', () => {
    expect(refused(() => load({ file: 'nowhere.yaml' }))).to.match(/nowhere\.yaml does not exist/);
  });

  it('refuses a flag that is not a key, naming the nearest', () => {
    expect(refused(() => load({ flags: { 'gateway.lisen': ':1' } }))).to.match(/did you mean gateway\.listen\?/);
  });
});

describe('secrets of the configuration', () => {
  const weak: readonly [name: string, token: string][] = [
    ['short', 'a-token-of-31-characters-0123456'.slice(0, 31)],
    ['one character again and again', 'x'.repeat(40)],
    ['a well-known word again and again', 'secret'.repeat(6)],
    ['well-known words with separators', 'change-me-'.repeat(4)],
    ['digits in order', '1234567890'.repeat(4)],
    ['padded with blanks', `${goodToken}   `],
  ];
  for (const [name, token] of weak) {
    it(`refuses a bootstrap token that is ${name}, without repeating it`, () => {
      const text = refused(() => load({ env: { SVC_MGMT_BOOTSTRAPTOKEN: token } }));
      expect(text).to.match(/management\.bootstrap_token \(SVC_MGMT_BOOTSTRAPTOKEN\)/);
      expect(text).not.to.include(token);
    });
  }

  it('refuses a weak control secret', () => {
    expect(refused(() => load({ env: { SVC_GW_CONTROLSECRET: 'short' } }))).to.match(
      /gateway\.control_secret.*16 characters/,
    );
  });

  it('never repeats a secret of the wrong type', () => {
    const text = refused(() => loadFile('management: { bootstrap_token: [4711] }\n'));
    expect(text).to.include('***').and.not.include('4711');
  });

  it('takes no secret from a flag, but a reference to one', () => {
    const key = 'management.bootstrap_token';
    expect(refused(() => load({ flags: { [key]: goodToken } }))).to.match(/not taken from a flag/);
    const { settings } = load({ flags: { [key]: '$env:TOKEN' }, env: { TOKEN: goodToken } });
    expect(settings.management.bootstrapToken).to.equal(goodToken);
  });
});
