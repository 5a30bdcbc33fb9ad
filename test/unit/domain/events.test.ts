/** The codec of events: what it refuses to write and to read. */
import { expect } from 'chai';
import { never } from '../../../domain/event.ts';
import type { StoredEvent } from '../../../domain/event-store.ts';
import { type DomainEvent, decodeEvent, encodeEvent } from '../../../domain/events.ts';
import { ProgramTooOld } from '../../../domain/upcast.ts';
import { apiCreated, certificateImported, keyAttached } from '../../support/given.ts';

const stored = (overrides: Partial<StoredEvent> = {}): StoredEvent => ({
  ...encodeEvent(apiCreated(), 'id', {}),
  stream: 'api-orders',
  revision: 0n,
  position: '00000000000000000001',
  at: new Date(0),
  ...overrides,
});
const bytes = (text: string) => new TextEncoder().encode(text);

describe('encodeEvent', () => {
  it('keeps type and schema beside the data', () => {
    const { type, schema, data } = encodeEvent(apiCreated(), 'id', {});
    expect({ type, schema }).to.deep.equal({ type: 'ApiDefinitionCreated', schema: 1 });
    expect(JSON.parse(new TextDecoder().decode(data))).to.not.have.property('type');
  });

  const unsealed: readonly DomainEvent[] = [
    { ...certificateImported('a'), secret: { clear: 'KEY' } } as DomainEvent,
    { ...keyAttached('a'), secret: { clear: 'KEY' } } as DomainEvent,
  ];
  for (const event of unsealed) {
    it(`refuses a secret in clear in ${event.type}, without repeating it`, () => {
      expect(() => encodeEvent(event, 'id', {}))
        .to.throw(`${event.type}.secret is not sealed`)
        .with.property('message')
        .that.does.not.contain('KEY');
    });
  }

  it('writes a sealed secret, and none', () => {
    for (const event of [keyAttached('a'), certificateImported('a'), certificateImported('a', { hasKey: true })]) {
      expect(decodeEvent(stored(encodeEvent(event, 'id', {}))).event).to.deep.equal(event);
    }
  });
});

describe('decodeEvent', () => {
  const tooNew: readonly [name: string, event: StoredEvent, says: string][] = [
    ['a type that it does not know', stored({ type: 'ApiPainted' }), 'event type ApiPainted at position'],
    ['a type with the name of an inherited member', stored({ type: 'toString' }), 'event type toString'],
    ['a newer schema', stored({ schema: 2 }), 'has schema 2, this program knows up to 1'],
  ];
  for (const [name, event, says] of tooNew) {
    it(`refuses ${name} and asks for an update`, () => {
      expect(() => decodeEvent(event))
        .to.throw(ProgramTooOld)
        .with.property('message')
        .that.matches(/update svc$/)
        .and.contains(says);
    });
  }

  const broken: readonly [name: string, data: Uint8Array][] = [
    ['broken JSON', bytes('{')],
    ['bytes that are no UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['a list', bytes('[]')],
    ['null', bytes('null')],
  ];
  for (const [name, data] of broken) {
    it(`refuses ${name}`, () => {
      expect(() => decodeEvent(stored({ data })))
        .to.throw()
        .and.not.be.instanceOf(ProgramTooOld);
    });
  }

  it('lets no member of the data take the place of the type', () => {
    const { event } = decodeEvent(stored({ data: bytes('{"type":"ApiDeactivated","orgId":"x"}') }));
    expect(event.type).to.equal('ApiDefinitionCreated');
  });
});

it('never tells of a value that nobody expected', () => {
  expect(() => never({ type: 'Odd' } as never)).to.throw('unexpected {"type":"Odd"}');
});
