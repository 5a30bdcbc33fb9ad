/** Every route against rubbish: never a 500, never a half-applied change, always a code, and a pointer where a body is to blame. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { Json } from '../../domain/event.ts';
import type { Route } from '../../src/management/route.ts';
import { routes } from '../../src/management/routes.ts';
import { type Filled, startFilled } from '../support/filled-management.ts';
import type { Answer } from '../support/management-server.ts';
import { createJudge } from '../support/own-document.ts';

/** Of each route and kind of rubbish. */
const numRuns = Number(process.env['SVC_FUZZ_RUNS'] ?? 12);

/** What is odd in more than one place at once. */
const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    '1e999',
    '99999999999999999999',
    'null',
    'true',
    '%00',
    '../..',
    '🙂',
    "' OR 1=1",
  ),
  fc.constantFrom('2026-13-45', '1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '*', '**', '[', '{', '\u2028'),
);

const oddJson = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>,
  fc.constantFrom<Json>(null, [], {}, [[]], { '': '' }, 1e308, -0, 'x'.repeat(5_000)),
);

/** The example in which some members are something else, so that the later checks are reached. */
const mutated = (example: Json): fc.Arbitrary<Json> =>
  fc
    .array(fc.record({ at: fc.array(fc.nat(), { maxLength: 5 }), value: oddJson, isDropped: fc.boolean() }), {
      ...{ minLength: 1, maxLength: 3 },
    })
    .map((changes) => changes.reduce<Json>((value, change) => changed(value, change.at, change), example));

type Change = { readonly value: Json; readonly isDropped: boolean };

function changed(value: Json, [step, ...rest]: readonly number[], change: Change): Json {
  if (typeof value !== 'object' || value === null || step === undefined) return change.value;
  const names = Object.keys(value);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return change.value;
  if (Array.isArray(value)) {
    return value.map((member: Json, index) => (String(index) === name ? changed(member, rest, change) : member));
  }
  const members = value as Readonly<Record<string, Json>>;
  if (rest.length === 0 && change.isDropped) {
    return Object.fromEntries(Object.entries(members).filter(([other]) => other !== name));
  }
  return { ...members, [name]: changed(members[name] ?? null, rest, change) };
}

const bodyOf = ({ body }: Route): fc.Arbitrary<string | Uint8Array | undefined> => {
  if (!body) return fc.constant(undefined);
  const text = (value: Json): string => JSON.stringify(value) ?? 'null';
  return fc.oneof(
    { weight: 3, arbitrary: mutated(body.example).map(text) },
    { weight: 1, arbitrary: oddJson.map(text) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('', '{', '[]', '{"a":', '\uFEFF{}', '{"__proto__":{}}', '{"a":"\\ud800"}'),
    },
    { weight: 1, arbitrary: fc.constant('['.repeat(2_000) + ']'.repeat(2_000)) },
  );
};

/** `minRevision` waits for what does not come; its own test has it. */
const queryOf = ({ parameters }: Route): fc.Arbitrary<string> => {
  const names = parameters.filter(({ in: place, name }) => place === 'query' && name !== 'minRevision');
  const known = names.map(({ name }) => name);
  return fc
    .array(fc.tuple(fc.constantFrom(...known, 'unheard', 'p'), oddText), { maxLength: 3 })
    .map((pairs) => new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString());
};

const headersOf = (route: Route): fc.Arbitrary<Record<string, string>> =>
  fc.record(
    {
      'content-type': fc.constantFrom(...(route.body?.types ?? ['application/json']), 'text/html', 'x', ''),
      'if-match': fc.constantFrom('*', '"0"', '"999999999999999999999999"', '""', 'W/"1"', 'rubbish', '"1.2.3"'),
      'if-none-match': fc.constantFrom('*', '"0"', 'rubbish'),
      'idempotency-key': fc.constantFrom('', 'a b', 'x'.repeat(256), 'é'),
      'x-svc-comment': fc.constantFrom('why', 'x'.repeat(4_097), 'é'),
      accept: fc.constantFrom('application/problem+json', 'text/html', 'rubbish', '*/*;q=0'),
      prefer: fc.constantFrom('return=representation', ';;;'),
    },
    { requiredKeys: [] },
  );

/** Those that wait for news answer late when nothing is wrong. */
const waits = new Set(['getFeedChanges']);

describe('every route, whatever comes', () => {
  const judge = createJudge();
  let filled: Filled;
  before(async () => {
    filled = await startFilled();
  });
  after(() => filled[Symbol.asyncDispose]());

  const unharmed = (route: Route, answer: Answer): void => {
    expect(answer.status, answer.text).to.be.lessThan(500);
    // A router that does not know the path or its escapes answers before the table does.
    if (answer.headers.get('x-svc-error-code') === 'not_found') return;
    expect(judge(route, answer), answer.text).to.deep.equal([]);
    if (answer.status < 400) return;
    expect(answer.headers.get('x-svc-error-code')).to.match(/^[a-z][a-z0-9_]*$/);
    for (const { pointer } of (answer.json['errors'] ?? []) as { readonly pointer: unknown }[]) {
      expect(pointer).to.satisfy((text: unknown) => text === '' || (typeof text === 'string' && text.startsWith('/')));
    }
  };

  for (const route of routes.filter(({ operationId }) => !waits.has(operationId))) {
    it(`${route.method} ${route.path}`, async () => {
      const real = await filled.pathOf(route);
      const { call, store } = filled.management;
      const path = fc.oneof(
        { weight: 4, arbitrary: fc.constant(real) },
        {
          weight: 1,
          arbitrary: oddText.map((text) =>
            route.path.replace(/\{\w+\}/, encodeURIComponent(text.toWellFormed()) || '%20'),
          ),
        },
      );
      await fc.assert(
        fc.asyncProperty(path, queryOf(route), headersOf(route), bodyOf(route), async (at, query, headers, body) => {
          const before = await store.head();
          const answer = await call(route.method, `${at}?${query}`, body, latin(headers));
          unharmed(route, answer);
          if (answer.status >= 400) expect(await store.head(), 'a refusal left something in the log').to.equal(before);
        }),
        { numRuns },
      );
    });
  }
});

/** Headers go out as Latin-1. */
const latin = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
