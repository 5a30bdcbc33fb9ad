/** Labels of objects: who owns one stays known through every change that does not speak of it. */
import { expect } from 'chai';
import { type ApiEvent, api } from '../../../domain/api/api.ts';
import { fold } from '../../../domain/decider.ts';
import { toApiId, toKeyHash, toPolicyId } from '../../../domain/ids.ts';
import { type KeyEvent, key } from '../../../domain/key.ts';
import type { Labels } from '../../../domain/labels.ts';
import { type PolicyEvent, policy } from '../../../domain/policy.ts';
import { restoreApi, restorePolicy } from '../../../domain/restore.ts';
import { org } from '../../support/given.ts';

const shop: Labels = { owner: 'shop' };
const none: Labels = {};

const settled = (name: string) => ({ document: { openapi: '3.0.3', name }, warnings: [], prunedOperations: [] });
const ofApi = { orgId: org, apiId: toApiId('orders'), kind: 'oas' } as const;
const createApi = (labels?: Labels) =>
  ({ type: 'CreateApi', ...ofApi, ...settled('one'), ...(labels ? { labels } : {}) }) as const;
const replaceApi = (name: string, labels?: Labels) =>
  ({ type: 'ReplaceApi', ...ofApi, ...settled(name), ...(labels ? { labels } : {}) }) as const;

const policyId = toPolicyId('gold');
const stated = (name: string, labels?: Labels) => ({
  ...{ orgId: org, policyId, document: { name }, docSha256: name, isNameTaken: false },
  ...(labels ? { labels } : {}),
});
const facts = { unknownPolicies: [], unknownApis: [], apisBeyond: [], mayAllowAll: true, policies: [] };
const ofKey = (name: string, labels?: Labels) => ({
  ...{ orgId: org, keyHash: toKeyHash('a'.repeat(64)), document: { name }, docSha256: name, ...facts },
  ...(labels ? { labels } : {}),
});

/** The owner after each step of one object, `-` for none, and how many events the step took. */
const runs = [
  {
    of: 'an API',
    step: (state: unknown, name: string, labels?: Labels) => {
      const before = (state ?? api.initial) as typeof api.initial;
      const events = api.decide(before.exists ? replaceApi(name, labels) : createApi(labels), before);
      return { events: events.length, next: (events as readonly ApiEvent[]).reduce(api.evolve, before) };
    },
  },
  {
    of: 'a policy',
    step: (state: unknown, name: string, labels?: Labels) => {
      const before = (state ?? policy.initial) as typeof policy.initial;
      const type = before.exists ? 'UpdatePolicy' : 'CreatePolicy';
      const events = policy.decide({ type, ...stated(name, labels) }, before);
      return { events: events.length, next: (events as readonly PolicyEvent[]).reduce(policy.evolve, before) };
    },
  },
  {
    of: 'a key',
    step: (state: unknown, name: string, labels?: Labels) => {
      const before = (state ?? key.initial) as typeof key.initial;
      const command = before.exists
        ? ({ type: 'UpdateKey', ...ofKey(name, labels) } as const)
        : ({ type: 'CreateKey', prefix: 'aa', ...ofKey(name, labels) } as const);
      const events = key.decide(command, before);
      return { events: events.length, next: (events as readonly KeyEvent[]).reduce(key.evolve, before) };
    },
  },
] as const;

describe('the owner of an object', () => {
  for (const { of, step } of runs) {
    it(`stays when ${of} changes, changes without another document, and goes when that is said`, () => {
      let state: unknown;
      const ownerOf = (name: string, labels?: Labels) => {
        const { events, next } = step(state, name, labels);
        state = next;
        return [events, (next as { labels?: Labels }).labels?.owner ?? '-'];
      };
      expect(ownerOf('one', shop)).to.deep.equal([1, 'shop']);
      expect(ownerOf('one')).to.deep.equal([0, 'shop']);
      expect(ownerOf('two')).to.deep.equal([1, 'shop']);
      expect(ownerOf('two', { owner: 'till' })).to.deep.equal([1, 'till']);
      expect(ownerOf('two', none)).to.deep.equal([1, '-']);
      expect(ownerOf('two', none)).to.deep.equal([0, '-']);
    });
  }

  it('is brought back by a restore', () => {
    const then = fold(api, api.decide(createApi(shop), api.initial));
    const now = fold(api, api.decide(createApi(), api.initial));
    const target = { ...ofApi, toRevision: '0', warnings: [] };
    const { change, events } = restoreApi(target, now, then, { keepNew: false, reason: '' });
    expect([change, fold(api, events)]).to.deep.equal(['changed', then]);
    expect(restoreApi(target, then, now, { keepNew: false, reason: '' }).events[0]).to.not.have.property('labels');
    const owned = fold(policy, policy.decide({ type: 'CreatePolicy', ...stated('one', shop) }, policy.initial));
    const free = fold(policy, policy.decide({ type: 'CreatePolicy', ...stated('one') }, policy.initial));
    const sides = Object.fromEntries([
      ['now', free],
      ['then', owned],
    ]) as Parameters<typeof restorePolicy>[1];
    expect(restorePolicy({ orgId: org, policyId }, sides, { keepNew: false }).change).to.equal('changed');
  });
});
