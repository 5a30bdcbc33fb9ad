/** Reservations by given, when, then. */
import { toOrgId } from '../../../domain/ids.ts';
import { type ReservationCommand, type ReservationEvent, reservation } from '../../../domain/reservation.ts';
import { givenFor, org } from '../../support/given.ts';

const given = givenFor(reservation);
const others = toOrgId('others');
const name = { kind: 'route', value: '\n/orders', commandId: 'c' } as const;

const reserve = (owner: string, orgId = org): ReservationCommand => ({
  type: 'ReserveName',
  ...name,
  orgId,
  owner,
  ownerName: `name of ${owner}`,
  listenPath: '/orders/',
});
const release = (owner: string, orgId = org): ReservationCommand => ({ type: 'ReleaseName', ...name, orgId, owner });
const reserved = (owner: string, orgId = org): ReservationEvent => ({
  type: 'NameReserved',
  ...name,
  orgId,
  owner,
  ownerName: `name of ${owner}`,
});
const released = (owner: string, orgId = org): ReservationEvent => ({ type: 'NameReleased', ...name, orgId, owner });

describe('ReserveName', () => {
  it('takes a free name', () => given().when(reserve('a')).results(reserved('a')));

  it('changes nothing for the holder', () => given(reserved('a')).when(reserve('a')).results());

  it('refuses another API and names the holder', () =>
    given(reserved('a'))
      .when(reserve('b'))
      .refuses('route_taken', 'Found API with same url. Listen path "/orders/" belongs to API a (name of a).'));

  it('does not name the API of another organisation', () =>
    given(reserved('a', others))
      .when(reserve('b'))
      .refuses('route_taken', 'Found API with same url. Listen path "/orders/" is taken.'));

  it('refuses the same API id of another organisation', () =>
    given(reserved('a', others)).when(reserve('a')).refuses('route_taken'));

  it('takes a name that was released', () =>
    given(reserved('a'), released('a')).when(reserve('b')).results(reserved('b')));
});

describe('ReleaseName', () => {
  it('lets a name go', () => given(reserved('a')).when(release('a')).results(released('a')));

  it('changes nothing for a name that nobody holds', () => given().when(release('a')).results());

  it('does not take it from another API', () => given(reserved('a')).when(release('b')).results());

  it('does not take it from another organisation', () => given(reserved('a', others)).when(release('a')).results());
});

describe('names of policies', () => {
  const held = { ...reserved('a'), kind: 'name' } as const;
  const wanted = { type: 'ReserveName', ...name, kind: 'name', orgId: org, owner: 'b', ownerName: 'B' } as const;
  const taken = { type: 'NameReserved', ...name, kind: 'name', orgId: org, owner: 'b', ownerName: 'B' } as const;

  it('go to one of two, and say what is wrong with the other', () =>
    given(held).when(wanted).refuses('policy_name_taken'));

  it('are free when nobody holds them', () => given().when(wanted).results(taken));
});
