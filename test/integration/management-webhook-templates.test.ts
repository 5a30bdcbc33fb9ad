/** Templates of webhooks in management: judged when they are saved, rendered by a trial and for its own events. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { webhookTriggers } from '../../domain/webhook-body.ts';
import { apiDocument } from '../support/documents.ts';
import { handler, type Receiver, startReceiver } from '../support/event-gateway.ts';
import { type Answer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const json = { 'content-type': 'application/json' };

describe('templates of webhooks in management', () => {
  let management: TestManagement;
  let receiver: Receiver;
  let folder: TemporaryFolder;
  before(async () => {
    folder = temporaryFolder('svc-templates-');
    mkdirSync(folder.file('templates'));
    management = await startTestManagement({ settings: { templatesPath: folder.file('templates') } });
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver[Symbol.asyncDispose]();
    await management[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const call = (method: string, path: string, body: JsonObject): Promise<Answer> =>
    management.call(method, path, JSON.stringify(body), json);
  const put = async (id: string, members: JsonObject): Promise<void> => {
    const answer = await call('POST', '/api/webhooks', { id, url: receiver.url, ...members });
    expect(answer.status, answer.text).to.equal(200);
  };
  const tried = async (id: string, trigger: string) => {
    const answer = await call('POST', `/api/webhooks/${id}/test`, { trigger });
    expect(answer.status, answer.text).to.equal(200);
    return { told: answer.json, got: receiver.received.at(-1) };
  };

  const wrong: readonly (readonly [bodyTemplate: string, says: string])[] = [
    [
      '{\n  "a": "{{ uper .Type }}"}',
      '/bodyTemplate: line 2, column 12: function "uper" not defined, did you mean "upper"?',
    ],
    ['{{ if .Type }}', '/bodyTemplate: line 1, column 1: {{if}} has no {{end}}'],
    ['{"text": "no action"}', '/bodyTemplate: has no {{ in it, and so names a file'],
    ['../outside.json', 'gateway.templates_path'],
    ['/etc/passwd', 'gateway.templates_path'],
  ];
  for (const [bodyTemplate, says] of wrong) {
    it(`are refused: ${JSON.stringify(bodyTemplate)}`, async () => {
      const made = await call('POST', '/api/webhooks', { url: receiver.url, bodyTemplate });
      expect(made.status).to.equal(400);
      expect(made.json['Message']).to.contain(says);
      const api = apiDocument({ server: { eventHandlers: [handler({ url: receiver.url, bodyTemplate })] } });
      const saved = await management.call('POST', '/api/apis/streams', api);
      expect(saved.status, saved.text).to.equal(400);
      expect(saved.text)
        .to.contain('bodyTemplate')
        .and.to.contain(JSON.stringify(says.replace('/bodyTemplate: ', '')).slice(1, -1));
    });
  }

  it('are refused in a change, which leaves the webhook as it was', async () => {
    await put('kept', { bodyTemplate: '{"a": "{{.Type}}"}' });
    const changed = await call('PATCH', '/api/webhooks/kept', { bodyTemplate: '{{' });
    expect([changed.status, changed.text]).to.satisfy(
      ([status, text]: [number, string]) => status === 400 && text.includes('unclosed action'),
    );
    expect((await management.call('GET', '/api/webhooks/kept')).json).to.include({
      bodyTemplate: '{"a": "{{.Type}}"}',
    });
  });

  it('make what a trial sends, of every trigger', async () => {
    await put('tried', { bodyTemplate: '{"kind": "{{.Type}}", "all": {{toJson .Meta}}, "at": "{{.TimeStamp}}"}' });
    for (const trigger of webhookTriggers) {
      const { told, got } = await tried('tried', trigger);
      expect(told).to.deep.include({ isDelivered: true, status: 204, warnings: [] });
      expect(got?.json).to.include({ kind: trigger });
      expect(got?.json['all']).to.include.keys('message', 'Message', 'OrgID', 'APIID');
    }
  });

  it('are remarked upon by a trial that sends the default body', async () => {
    await put('broken', { bodyTemplate: '{"a": {{.Type}}}' });
    const { told, got } = await tried('broken', 'AuthFailure');
    const text = 'the default body was sent: the template made no JSON';
    expect(told['warnings']).to.deep.equal([{ pointer: '/bodyTemplate', code: 'template_failed', text }]);
    expect(got?.json).to.include({ event: 'AuthFailure', path: '/sample/' });
  });

  it('may stand in files of the management server', async () => {
    await put('filed', { bodyTemplate: 'alarm.json' });
    expect((await tried('filed', 'HostDown')).told['warnings'])
      .to.have.nested.property('[0].text')
      .that.contains('not there');
    writeFileSync(folder.file('templates', 'alarm.json'), '{"url": "{{.Meta.URL}}"}');
    const { told, got } = await tried('filed', 'HostDown');
    expect(told['warnings']).to.deep.equal([]);
    expect(got?.json).to.deep.equal({ url: 'http://upstream.example/' });
  });
});
