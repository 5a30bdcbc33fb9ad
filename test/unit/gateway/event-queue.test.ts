/** The queue of events: bounded for each API, the oldest go first, and nobody is always last. */
import { expect } from 'chai';
import { EventQueue, type Queued } from '../../../gateway/events/event-queue.ts';

const event = (apiId: string, number: number): Queued => ({
  event: { id: `${apiId}${number}`, trigger: 'AuthFailure', atMs: 0, apiId, orgId: 'acme', facts: {}, request: '' },
  own: [],
  ofNode: [],
});
const ids = (all: readonly Queued[]): readonly string[] => all.map(({ event: { id } }) => id);

describe('the queue of events', () => {
  it('drops the oldest of the API that has a thousand, and no other', () => {
    const queue = new EventQueue();
    expect(queue.push(event('b', 0))).to.equal(undefined);
    const dropped = Array.from({ length: 1_003 }, (_, number) => queue.push(event('a', number)));
    expect(ids(dropped.filter((one) => one !== undefined))).to.deep.equal(['a0', 'a1', 'a2']);
    const taken = [...queue.take(500), ...queue.take(500), ...queue.take(500)];
    expect(taken).to.have.length(1_001);
    expect(ids(taken.filter(({ event: { apiId } }) => apiId === 'a'))[0]).to.equal('a3');
    expect(queue.isEmpty).to.equal(true);
  });

  it('gives every API its turn, in the order of its events', () => {
    const queue = new EventQueue();
    for (const apiId of ['a', 'b', 'c']) for (let number = 0; number < 4; number++) queue.push(event(apiId, number));
    const taken: string[] = [];
    for (let turn = 0; turn < 3; turn++) taken.push(...ids(queue.take(3)));
    expect(taken).to.deep.equal(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
    for (let number = 0; !queue.isEmpty && number < 9; number++) taken.push(...ids(queue.take(1)));
    expect(taken.toSorted()).to.deep.equal(['a', 'b', 'c'].flatMap((apiId) => [0, 1, 2, 3].map((n) => `${apiId}${n}`)));
  });
});
