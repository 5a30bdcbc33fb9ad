/** Shows that the create race of the event store contract bites: a store that forgets expectations does not pass it. */
import { expect } from 'chai';
import type { EventStore } from '../../../../../domain/event-store.ts';
import { MemoryEventStore } from '../../../../../src/stores/events/memory-event-store.ts';
import { raceToCreate } from '../../../../support/event-store-events.ts';

/** As a store whose SQL does not enforce that a stream must not exist. */
class ForgetfulStore extends MemoryEventStore {
  override append(...[writes, options]: Parameters<EventStore['append']>): ReturnType<EventStore['append']> {
    return super.append(
      writes.map((write) => ({ ...write, expected: 'any' })),
      options,
    );
  }
}

/** As a store that looks first and writes later, without one transaction around both. */
class RacyStore extends MemoryEventStore {
  override async append(...[writes, options]: Parameters<EventStore['append']>): ReturnType<EventStore['append']> {
    const found = await Promise.all(writes.map(({ stream }) => this.readStream(stream, { limit: 1 })));
    const isMissing = found.every((events) => events.length === 0);
    return super.append(isMissing ? writes.map((write) => ({ ...write, expected: 'any' })) : writes, options);
  }
}

describe('the create race of the event store contract', () => {
  for (const Broken of [ForgetfulStore, RacyStore]) {
    it(`is lost by a ${Broken.name}`, async () => {
      const { won } = await raceToCreate([new Broken()], 'api-one', 50);
      expect(won).to.be.above(1);
    });
  }
});
