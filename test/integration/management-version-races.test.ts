/** Versions while other management nodes write: what was decided on an older state is decided again, and nothing of theirs is lost. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { api } from '../../domain/api/api.ts';
import type { ApiDocument } from '../../domain/api/definition.ts';
import { forwardedStore } from '../../domain/event-store.ts';
import { encodeEvent } from '../../domain/events.ts';
import { toApiId } from '../../domain/ids.ts';
import { at, withMember } from '../../domain/json.ts';
import { expectedOf, loadApi } from '../../src/management/load.ts';
import { named, streams } from '../support/management-refusals.ts';
import { type Answer, orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { block, internal, versionsOf } from '../support/versioned-management.ts';

describe('versions while another node writes', () => {
  let management: TestManagement;
  /** Runs once: before the append that writes to this stream, or before the stream is read for the n-th time from now. */
  let between: { readonly stream: string; readonly read?: number; readonly run: () => Promise<void> } | undefined;
  let reads = 0;
  const comeBetween = async (streams: readonly string[], isRead: boolean): Promise<void> => {
    if (!between || isRead !== (between.read !== undefined) || !streams.includes(between.stream)) return;
    if (isRead && ++reads < (between.read ?? 0)) return;
    const { run } = between;
    between = undefined;
    reads = 0;
    await run();
  };
  before(async () => {
    management = await startTestManagement({
      wrap: (store) => ({
        ...forwardedStore(store),
        append: async (writes, options) => {
          await comeBetween(
            writes.map(({ stream }) => stream),
            false,
          );
          return store.append(writes, options);
        },
        readStream: async (stream, options) => {
          await comeBetween([stream], true);
          return store.readStream(stream, options);
        },
      }),
    });
  });
  after(() => management[Symbol.asyncDispose]());
  const { call, done, create, addVersion, versioningOf } = versionsOf(() => management);

  /** As another node does: its own decision, appended to the same log. */
  const elsewhere = async (id: string, change?: (document: ApiDocument) => ApiDocument): Promise<void> => {
    const apiId = toApiId(id);
    const loaded = await loadApi(management.store, apiId);
    const { state } = loaded;
    if (!state.exists) throw new Error(`no API ${id}`);
    const target = { orgId, apiId, kind: state.kind, warnings: [], prunedOperations: [] };
    const events = change
      ? api.decide({ type: 'ReplaceApi', ...target, document: change(state.document) }, state)
      : api.decide({ type: 'DeleteApi', ...target }, state);
    const encoded = events.map((event) => encodeEvent(event, randomUUID(), { v: '1' }));
    const write = { stream: `api-${id}`, expected: expectedOf(loaded), events: encoded };
    await management.store.append([write], { commandId: randomUUID(), timeoutMs: 1_000 });
  };
  const renamed = (document: ApiDocument): ApiDocument =>
    withMember(document, ['x-svc-api-gateway', 'info', 'name'], 'renamed elsewhere');
  const nameOf = async (id: string) =>
    at((await done('GET', `${streams}/${id}`)).json, 'x-svc-api-gateway', 'info', 'name');

  it('a base does not come to list what another node deletes meanwhile', async () => {
    await create('one');
    await create('one-v2', { info: internal });
    between = { stream: 'api-one', run: () => elsewhere('one-v2') };
    const versioning = block({ versions: [{ name: 'v2', id: 'one-v2' }] });
    const answer = await call('PUT', `${streams}/one`, named('one', { info: { versioning } }));
    expect(answer.status, answer.text).to.equal(400);
    expect(answer.json['Message']).to.match(/there is no such API/);
    expect(await versioningOf('one')).to.equal(undefined);
  });

  it('a new version is entered in the base as another node leaves it', async () => {
    await create('two', { info: { versioning: block() } });
    between = { stream: 'api-two', run: () => elsewhere('two', renamed) };
    await addVersion('two-v2', { base_api_id: 'two', new_version_name: 'v2' });
    expect(await nameOf('two')).to.equal('renamed elsewhere');
    expect(at((await versioningOf('two')) ?? {}, 'versions')).to.deep.equal([{ name: 'v2', id: 'two-v2' }]);
  });

  it('a new version of a base that another node deletes is refused, and nothing of it is left', async () => {
    await create('three', { info: { versioning: block() } });
    between = { stream: 'api-three', run: () => elsewhere('three') };
    const query = 'base_api_id=three&new_version_name=v2';
    const answer = await call('POST', `${streams}?${query}`, named('three-v2'));
    expect(answer.headers.get('x-svc-error-code'), answer.text).to.equal('bad_base_api');
    expect((await call('GET', `${streams}/three-v2`)).status).to.equal(404);
  });

  it('a deleted version leaves the base as another node leaves it', async () => {
    await create('four', { info: { versioning: block() } });
    await addVersion('four-v2', { base_api_id: 'four', new_version_name: 'v2' });
    between = { stream: 'api-four', run: () => elsewhere('four', renamed) };
    await done('DELETE', `${streams}/four-v2`);
    expect(await nameOf('four')).to.equal('renamed elsewhere');
    expect(at((await versioningOf('four')) ?? {}, 'versions')).to.deep.equal([]);
  });

  it('a base is entered as it is when it is decided on, not as it was when it was looked at', async () => {
    await create('five', { info: { versioning: block() } });
    between = { stream: 'api-five', read: 2, run: () => elsewhere('five', renamed) };
    await addVersion('five-v2', { base_api_id: 'five', new_version_name: 'v2' });
    expect(between).to.equal(undefined);
    expect(await nameOf('five')).to.equal('renamed elsewhere');
  });

  it('a version that is about to go is not listed by a command of the same node', async () => {
    await create('six');
    await create('six-v2', { info: internal });
    const versioning = block({ versions: [{ name: 'v2', id: 'six-v2' }] });
    let listing: Promise<Answer> | undefined;
    const run = async (): Promise<void> => {
      listing = call('PUT', `${streams}/six`, named('six', { info: { versioning } }));
      // Long enough for a command that does not wait.
      for (let i = 0; i < 20; i++) await nameOf('six');
    };
    between = { stream: 'api-six-v2', run };
    await done('DELETE', `${streams}/six-v2`);
    expect((await listing)?.status).to.equal(400);
    expect(await versioningOf('six')).to.equal(undefined);
  });
});
