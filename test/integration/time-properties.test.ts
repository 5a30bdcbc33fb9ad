/** Laws of time travel over the management API, for random commands: a read of a past position shows what was live there. */
import { expect } from 'chai';
import fc from 'fast-check';
import { shortPosition } from '../../domain/event-store.ts';
import { startTestManagement } from '../support/management-server.ts';
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
      { numRuns: 12 },
    ));
});
