/** Event handlers in the configuration of a gateway: the form of a definition, its rules, and secrets by reference. */
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { ConfigurationError } from '../../../../src/config/errors.ts';
import { loadSettings } from '../../../../src/config/load.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

type Handlers = readonly Readonly<Record<string, unknown>>[];

function load(handlers: Handlers, env = {}) {
  using folder = temporaryFolder();
  writeFileSync(folder.file('svc.json'), JSON.stringify({ gateway: { event_handlers: handlers } }));
  return loadSettings({ file: folder.file('svc.json'), env });
}

const hook = { enabled: true, trigger: 'AuthFailure', type: 'webhook' };

describe('gateway.event_handlers', () => {
  it('are read as those of a definition, secrets by reference, and what is off is left out', () => {
    const headers = [{ name: 'X-Key', value: '$env:KEY' }];
    const url = 'https://hooks.example/in?a=1';
    const bodyTemplate = '{"event": "{{.Type}}"}';
    const handlers = [
      { ...hook, name: 'alarm', url, headers, secret: '$env:SECRET', cooldownPeriod: '1m', bodyTemplate },
      { ...hook, id: 'stored' },
      { enabled: true, trigger: 'VersionFailure', type: 'log', logPrefix: 'seen' },
      { ...hook, enabled: false, url },
    ];
    const { settings } = load(handlers, { KEY: '0042', SECRET: 'own' });
    expect(settings.gateway.eventHandlers).to.deep.equal([
      {
        ...{ type: 'inline', trigger: 'AuthFailure', key: 'AuthFailure alarm', cooldownMs: 60_000 },
        target: { url, method: 'POST', headers: [{ name: 'X-Key', value: '0042' }], secret: 'own', bodyTemplate },
      },
      { type: 'stored', trigger: 'AuthFailure', key: 'AuthFailure ', webhookId: 'stored' },
      { type: 'log', trigger: 'VersionFailure', key: 'VersionFailure ', prefix: 'seen' },
    ]);
    expect(settings.gateway.webhookAllowLinkLocal).to.equal(false);
  });

  it('follow references in the environment too', () => {
    const list = JSON.stringify([{ ...hook, url: 'https://a.example/', secret: '$env:SECRET' }]);
    const { settings } = loadSettings({ env: { SVC_GW_EVENTHANDLERS: list, SECRET: 'own' } });
    expect(settings.gateway.eventHandlers[0]).to.have.nested.property('target.secret', 'own');
  });

  const refused: readonly (readonly [what: string, handler: Handlers[number], text: string])[] = [
    ['an unknown trigger', { ...hook, trigger: 'AuthFailures', id: 'a' }, 'did you mean "AuthFailure"?'],
    ['a handler in JavaScript', { ...hook, type: 'custom' }, 'must be one of webhook, log'],
    [
      'a template that is none',
      { ...hook, url: 'https://a.example/', bodyTemplate: '{{ uper .Type }}' },
      'line 1, column 4',
    ],
    ['no address', hook, 'gateway.event_handlers.0.url: a webhook needs a url, or the id of a stored one.'],
    ['an address of another kind', { ...hook, url: 'ftp://a.example/' }, 'must be an absolute URL (http, https)'],
    ['a pause that is none', { ...hook, id: 'a', cooldownPeriod: 'soon' }, 'gateway.event_handlers.0.cooldownPeriod:'],
    [
      'a header of the connection',
      { ...hook, id: 'a', headers: [{ name: 'TE', value: 'x' }] },
      'belongs to the connection',
    ],
    ['an unknown member', { ...hook, id: 'a', header: [] }, 'did you mean'],
    ['a variable that is not set', { ...hook, id: 'a', secret: '$env:NONE' }, 'NONE, which is not set'],
  ];
  for (const [what, handler, text] of refused) {
    it(`stop the start with ${what}`, () => {
      expect(() => load([handler])).to.throw(ConfigurationError, text);
    });
  }

  it('never repeat a secret', () => {
    for (const handler of [
      { ...hook, url: 'https://u:Pass-67@a.example/', secret: 5 },
      { ...hook, url: 'https://a.example/', secret: ['Own-61'] },
      { ...hook, url: 'https://a.example/', headers: [{ name: 'A', value: { is: 'Own-61' } }] },
    ]) {
      expect(() => load([handler]))
        .to.throw(ConfigurationError)
        .with.property('message')
        .that.does.not.match(/Own-61|Pass-67/);
    }
  });
});
