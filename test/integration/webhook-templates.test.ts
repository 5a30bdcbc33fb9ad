/** Templates of webhooks: rendered by the gateway that sends, escaped for JSON, read from files, and the default body where they come to nothing. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import {
  type EventGateway,
  guardedApi,
  handler,
  type Received,
  type Receiver,
  startEventGateway,
  startReceiver,
} from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

describe('the template of a webhook', () => {
  let receiver: Receiver;
  let folder: TemporaryFolder;
  let gateway: EventGateway;
  beforeEach(async () => {
    receiver = await startReceiver();
    folder = temporaryFolder('svc-templates-');
    mkdirSync(folder.file('templates', 'teams'), { recursive: true });
    gateway = await startEventGateway({ templatesPath: folder.file('templates') });
  });
  afterEach(async () => {
    await gateway[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const write = (name: string, text: string): void => writeFileSync(folder.file('templates', name), text);
  const first = (): Promise<Received> => eventually(() => receiver.received[0]);
  const install = (members: JsonObject) =>
    gateway.put('guarded', guardedApi('guarded', [handler({ url: receiver.url, name: 'alarm', ...members })]));
  const sent = async (members: JsonObject): Promise<Received> => {
    await install(members);
    await gateway.refuse();
    return first();
  };
  const config = async (): Promise<Record<'events' | 'eventWarnings', JsonObject>> =>
    (await (await fetch(`${gateway.control}/svc/config`)).json()) as Record<'events' | 'eventWarnings', JsonObject>;
  const target = 'handler:guarded:AuthFailure alarm';

  it('makes the body of the envelope of the event', async () => {
    const bodyTemplate =
      '{"kind": "{{.Type}}", "text": "{{upper .Meta.Message}} on {{.Meta.Path}}", "same": {{eq .Meta.message .Meta.Message}}, "api": "{{.Meta.APIID}}", "org": "{{.Meta.OrgID}}", "at": "{{date "2006" .TimeStamp}}", "key": {{toJson .Meta.Key}}, "none": "{{.Meta.Reason}}"}';
    const { json, headers } = await sent({ bodyTemplate });
    const { key, ...rest } = json;
    expect(rest).to.deep.equal({
      ...{ kind: 'AuthFailure', text: 'AUTH FAILURE on /guarded/some/path', same: true, api: 'guarded', org: 'acme' },
      ...{ at: String(new Date().getUTCFullYear()), none: '<no value>' },
    });
    expect(key).to.match(/^[0-9a-f]{64}$/);
    expect(headers['content-type']).to.equal('application/json');
  });

  it('cannot be made to say more by who causes the event', async () => {
    await install({ bodyTemplate: '{"path": "{{.Meta.Path}}", "by": "us"}' });
    const path = encodeURI('/guarded/","by":"them","x":"{{.Type}}\\').replaceAll('%22', '"');
    const { connect } = await import('node:net');
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: nobody\r\nConnection: close\r\n\r\n`);
    const { json, body } = await first();
    socket.destroy();
    expect(json['by'], body).to.equal('us');
    expect(json).to.have.all.keys('path', 'by');
    expect(json['path']).to.contain('"by":"them"');
  });

  it('is sent as it is where the content is no JSON', async () => {
    const headers = [{ name: 'Content-Type', value: 'text/plain' }];
    const { body } = await sent({ headers, bodyTemplate: 'Alarm: {{.Type}} "{{printf "%s\\t!" .Meta.Message}}"' });
    expect(body).to.equal('Alarm: AuthFailure "Auth Failure\t!"');
    expect((await config()).eventWarnings).to.deep.equal({});
  });

  const useless: readonly (readonly [name: string, bodyTemplate: string, warning: RegExp])[] = [
    ['makes no JSON', '{"a": {{.Type}}}', /made no JSON/],
    ['fails', '{"a": "{{index .Meta.Message 99}}"}', /index: index out of range/],
    ['never ends', '{{range 100000000}}{{end}}', /takes (?:more|longer)/],
  ];
  for (const [name, bodyTemplate, warning] of useless) {
    it(`gives way to the default body when it ${name}, and that is told`, async () => {
      const { json } = await sent({ bodyTemplate });
      expect(json).to.include({ event: 'AuthFailure', message: 'Auth Failure' });
      await eventually(async () => (await config()).eventWarnings[target] !== undefined);
      const { events, eventWarnings } = await config();
      expect(eventWarnings[target]).to.match(warning);
      expect(events[target]).to.include({ delivered: 1, defaulted: 1 });
      expect(gateway.log.lines.map(({ message }) => message)).to.include('a template came to nothing');
      expect(gateway.gateway.events.deliveries[0]?.warning).to.match(warning);
    });
  }

  it('has the request where it asks for it, without what it was authorised by', async () => {
    const bodyTemplate = '{"request": "{{.Meta.OriginatingRequest | b64dec}}"}';
    const { json } = await sent({ bodyTemplate });
    expect(json['request']).to.match(/^GET \/guarded\/some\/path\?part=1 HTTP\/1\.1\r\n/);
    expect(json['request']).to.match(/authorization: \*\*\*/i);
    expect(json['request']).not.to.contain('nobody-has-this');
  });

  it('of a stored webhook holds for those that name it', async () => {
    const bodyTemplate = '{"stored": "{{.Type}}"}';
    gateway.feed.putWebhook('alarms', { url: receiver.url, method: 'POST', headers: [], bodyTemplate });
    await gateway.put('guarded', guardedApi('guarded', [handler({ id: 'alarms' })]));
    await gateway.refuse();
    expect((await first()).json).to.deep.equal({ stored: 'AuthFailure' });
  });

  it('stands in a file below its folder, which is read again at a reload', async () => {
    write('teams/alarm.json', '{"one": "{{.Type}}"}');
    expect((await sent({ bodyTemplate: 'teams/alarm.json' })).json).to.deep.equal({ one: 'AuthFailure' });
    write('teams/alarm.json', '{"two": "{{.Type}}"}');
    await gateway.refuse();
    await eventually(() => receiver.received.length === 2);
    expect(receiver.received[1]?.json).to.deep.equal({ one: 'AuthFailure' });
    await fetch(`${gateway.control}/svc/reload?wait=true`);
    await gateway.refuse();
    await eventually(() => receiver.received.length === 3);
    expect(receiver.received[2]?.json).to.deep.equal({ two: 'AuthFailure' });
  });

  it('is read from nowhere else', async () => {
    writeFileSync(folder.file('outside.json'), '{"secret": "{{.Type}}"}');
    symlinkSync(folder.file('outside.json'), folder.file('templates', 'link.json'));
    symlinkSync(folder.path, folder.file('templates', 'up'));
    write('large.json', `"${'x'.repeat(70_000)}"`);
    write('wrong.json', '{\n"a": {{ nosuch }}}');
    const rows: readonly (readonly [name: string, warning: RegExp])[] = [
      ['link.json', /outside of gateway.templates_path/],
      ['up/outside.json', /outside of gateway.templates_path/],
      ['up', /outside of gateway.templates_path/],
      ['teams', /it is no file/],
      ['none.json', /not there/],
      ['large.json', /longer than 65536 bytes/],
      ['wrong.json', /line 2, column 9: function "nosuch" not defined/],
    ];
    for (const [index, [bodyTemplate, warning]] of rows.entries()) {
      await install({ bodyTemplate });
      expect((await config()).eventWarnings[target], bodyTemplate).to.match(warning);
      await gateway.refuse();
      await eventually(() => receiver.received.length === index + 1);
      expect(receiver.received[index]?.json, bodyTemplate).to.include({ event: 'AuthFailure' });
      // The attempt has been judged: what it says comes before what the next configuration does.
      await eventually(async () => ((await config()).events[target] as JsonObject)['defaulted'] === index + 1);
    }
    await install({ bodyTemplate: '"{{.Type}}"' });
    expect((await config()).eventWarnings).to.deep.equal({});
  });
});
