/** Texts of refusals that clients depend on, and the nearest known name. */
import { expect } from 'chai';
import {
  apiExists,
  apiIdMismatch,
  apiUnknown,
  atInvalid,
  bodyMalformed,
  bodyUnreadable,
  certificateForeign,
  certificateUnknown,
  definitionInvalid,
  definitionRefused,
  extensionMissing,
  invalidId,
  kindMismatch,
  nearestName,
  queryInvalid,
  type Refusal,
  routeTaken,
  tooManyConflicts,
} from '../../../domain/errors.ts';

const problem = { pointer: '/x-svc-api-gateway/info/name', code: 'required', message: 'is required' };

const cases: readonly [refusal: Refusal, code: string, message: string][] = [
  [invalidId(), 'id_invalid', 'Invalid `ID` value'],
  [apiUnknown(), 'api_unknown', 'API not found.'],
  [apiExists(), 'api_exists', 'Found API with the same ID.'],
  [
    apiIdMismatch(),
    'api_id_mismatch',
    'Request APIID does not match that in Definition! For Update operations these must match.',
  ],
  [
    routeTaken('/a/', { id: 'x', name: 'X' }),
    'route_taken',
    'Found API with same url. Listen path "/a/" belongs to API x (X).',
  ],
  [routeTaken('/a/'), 'route_taken', 'Found API with same url. Listen path "/a/" is taken.'],
  [kindMismatch('x', 'streams', '/s'), 'kind_mismatch', 'API x is in streams format: use /s'],
  [definitionInvalid([problem]), 'definition_invalid', 'x-svc-api-gateway.info.name: is required'],
  [
    definitionInvalid([problem, { pointer: '', code: 'x', message: 'all of it' }]),
    'definition_invalid',
    'x-svc-api-gateway.info.name: is required\nall of it',
  ],
  [
    definitionRefused([problem]),
    'definition_refused',
    'Validation of API Definition failed. Reason: x-svc-api-gateway.info.name: is required',
  ],
  [bodyUnreadable(), 'body_unreadable', "Couldn't read body."],
  [bodyMalformed('comma at 3'), 'body_malformed', 'request malformed: comma at 3'],
  [extensionMissing('The payload …'), 'extension_missing', 'The payload …'],
  [queryInvalid('p', 'not an integer'), 'query_invalid', 'p: not an integer'],
  [atInvalid('is in the future'), 'at_invalid', 'at: is in the future'],
  [certificateUnknown(), 'certificate_unknown', 'Certificate with given SHA256 fingerprint not found'],
  [certificateForeign(), 'certificate_foreign', 'Attempted access to non-owned certificate.'],
  [tooManyConflicts(), 'too_many_conflicts', 'The API is changed by others at the same time; try again.'],
];

describe('refusals', () => {
  for (const [refusal, code, message] of cases) {
    it(`say "${message}"`, () => {
      expect(refusal).to.be.instanceOf(Error);
      expect(refusal).to.include({ name: 'Refusal', code, message });
    });
  }

  it('point at the place', () => {
    expect(queryInvalid('p', 'x').problems).to.deep.equal([
      { pointer: '/query/p', code: 'query_invalid', message: 'x' },
    ]);
    expect(definitionInvalid([problem]).problems).to.deep.equal([problem]);
  });
});

describe('a body that is malformed', () => {
  const rows: readonly [name: string, args: Parameters<typeof bodyMalformed>, pointer: string, message: string][] = [
    ['is wrong at the place with which the reason begins', ['/name is required'], '/name', 'is required'],
    ['also where a colon follows it', ['/0/value: is required'], '/0/value', 'is required'],
    ['is wrong where it is said to be', ['at must be a time', '/at'], '/at', 'at must be a time'],
    ['is wrong as a whole else', ['the JSON must be an object'], '', 'the JSON must be an object'],
  ];
  for (const [name, args, pointer, message] of rows) {
    it(name, () => {
      const refusal = bodyMalformed(...args);
      expect(refusal.message).to.equal(`request malformed: ${args[0]}`);
      expect(refusal.problems).to.deep.equal([{ pointer, code: 'body_malformed', message }]);
    });
  }
});

describe('nearestName', () => {
  const known = ['listenPath', 'customDomain', 'authentication', 'tls'];
  const names: readonly [name: string, nearest: string | undefined][] = [
    ['listenPaht', 'listenPath'],
    ['LISTENPATH', 'listenPath'],
    ['authentcation', 'authentication'],
    ['tsl', 'tls'],
    ['somethingElse', undefined],
    ['', undefined],
  ];
  for (const [name, nearest] of names) {
    it(`finds ${nearest ?? 'nothing'} for "${name}"`, () => expect(nearestName(name, known)).to.equal(nearest));
  }
  it('finds nothing among nothing', () => expect(nearestName('a', [])).to.equal(undefined));
});
