/** Laws of time travel over the management API, for random commands: a read of a past position shows what was live there. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonObject } from '../../domain/event.ts';
import { shortPosition } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { eventually } from '../support/eventually.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import {
  atPosition,
  type Certificates,
  makeCertificates,
  randomCommand,
  readRoutes,
  runCommand,
  type Seen,
  see,
} from '../support/random-commands.ts';

describe('time travel', function () {
  this.timeout(60_000);
  let certificates: Certificates;
  before(() => {
    certificates = makeCertificates();
  });

  it('shows with at=r what was live when r was newest, on every read', () =>
    fc.assert(
      fc.asyncProperty(fc.array(randomCommand, { minLength: 1, maxLength: 10 }), async (commands) => {
        await using management = await startTestManagement();
        const routes = readRoutes(certificates);
        const live: { readonly position: string; readonly seen: ReadonlyMap<string, Seen> }[] = [];
        for (const command of commands) {
          await runCommand(management, command, certificates);
          const position = shortPosition(await management.store.head());
          const reads = routes.map(async (route) => [route, await see(management, route)] as const);
          live.push({ position, seen: new Map(await Promise.all(reads)) });
        }
        for (const { position, seen } of live) {
          for (const [route, then] of seen) {
            expect(await see(management, atPosition(route, position)), `${route} at ${position}`).to.deep.equal(then);
          }
        }
      }),
      { numRuns: 6 },
    ));

  it('gives as snapshot of r what gateways were given when r was newest', () =>
    fc.assert(
      fc.asyncProperty(fc.array(randomCommand, { minLength: 1, maxLength: 8 }), async (commands) => {
        await using management = await startTestManagement();
        const ranFrom = ({ logId, era, position, revision, objects }: JsonObject) => [
          ...[logId, era, position, revision, objects],
        ];
        const live: (readonly [position: string, given: unknown])[] = [];
        for (const command of commands) {
          await runCommand(management, command, certificates);
          const head = await management.store.head();
          const given = await eventually(async () => {
            const { json } = await management.call('GET', '/api/feed/snapshot');
            return json['position'] === head && ranFrom(json);
          });
          live.push([shortPosition(head), given]);
        }
        for (const [position, given] of live) {
          const { json } = await management.call('GET', `/api/config?form=snapshot&at=${position}`);
          expect(ranFrom(json), position).to.deep.equal(given);
        }
      }),
      { numRuns: 5 },
    ));

  /** What a restore brings back: everything but where and when it was written. */
  const restored = (config: JsonObject, holes: ReadonlySet<unknown>) =>
    (config['objects'] as readonly JsonObject[]).map(({ kind, id, name, apiKind, document }) => {
      const { secret, ...rest } = document as JsonObject;
      // A key that was attached again is the same under another name.
      return { kind, id, name, apiKind, rest, hasSecret: holes.has(id) ? 'gone' : secret !== undefined };
    });
  const rows = ({ body }: Seen) =>
    ((body as JsonObject)['apis'] as readonly JsonObject[]).map(
      ({ id, name, kind, listenPath, domain, active, internal, warnings }) => [
        ...[id, name, kind, listenPath, domain, active, internal, warnings],
      ],
    );

  it('restores to any r the state that reads with at=r show, and nothing the second time', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(randomCommand, { minLength: 1, maxLength: 12 }),
        fc.nat(99),
        async (commands, percent) => {
          await using management = await startTestManagement();
          for (const command of commands) await runCommand(management, command, certificates);
          const head = Number(shortPosition(await management.store.head()));
          const at = String(Math.floor((head * percent) / 100));
          const then = (await management.call('GET', `/api/config?at=${at}`)).json;
          const catalogue = rows(await see(management, `/api/apis?sort=name&at=${at}`));
          const restore = () =>
            management.call(
              'POST',
              '/api/config/restore',
              { at, allowHoles: true },
              { 'content-type': 'application/json' },
            );
          const answer = await restore();
          expect(answer.status, answer.text).to.equal(200);
          const holes = new Set((answer.json['holes'] as readonly JsonObject[]).map(({ id }) => id));
          const now = (await management.call('GET', '/api/config')).json;
          expect(restored(now, holes)).to.deep.equal(restored(then, holes));
          expect(rows(await see(management, '/api/apis?sort=name'))).to.deep.equal(catalogue);
          const after = await management.store.head();
          expect((await restore()).headers.get('x-svc-unchanged')).to.equal('true');
          expect(await management.store.head()).to.equal(after);
          await claimsFitTheCatalogue(management);
        },
      ),
      { numRuns: 15 },
    ));

  /** Every live API holds its route, and no route that nobody has is held. */
  async function claimsFitTheCatalogue(management: TestManagement): Promise<void> {
    const held = new Map<string, string>();
    const { events } = await management.store.readAll({ after: '', limit: 1_000, filter: { categories: ['uniq'] } });
    for (const { event } of events.map((stored) => decodeEvent(stored))) {
      if (event.type === 'NameReserved') held.set(event.value.trim(), event.owner);
      if (event.type === 'NameReleased') held.delete(event.value.trim());
    }
    const { apis } = (await management.call('GET', '/api/apis')).json;
    expect(held).to.deep.equal(
      new Map((apis as readonly JsonObject[]).map(({ id, listenPath }) => [String(listenPath), String(id)])),
    );
  }
});
