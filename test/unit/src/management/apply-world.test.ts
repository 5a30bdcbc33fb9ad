/** What a declarative set asks the read models for. */
import { expect } from 'chai';
import { apiCatalog } from '../../../../projections/api-catalog.ts';
import type { ReadModelStore } from '../../../../projections/read-model-store.ts';
import { worldAfter } from '../../../../src/management/apply/world.ts';
import { apiDocument } from '../../../support/documents.ts';
import { apiCreated, folded, org } from '../../../support/given.ts';

const giving = (id: string, ...policies: readonly string[]) => {
  const server = { listenPath: { value: `/${id}/` }, authentication: { jwt: { defaultPolicies: policies } } };
  return apiCreated({ id, document: apiDocument({ server }) });
};

describe('the world of a declarative set', () => {
  it('knows which APIs name a policy, and looks at each API once for all policies, and not before it is asked', () => {
    const models = folded(apiCatalog, giving('orders', 'gold', 'silver'), giving('pets', 'gold'), giving('plain'));
    let read = 0;
    const watched = new Proxy(models as ReadModelStore, {
      get: (target, name) => {
        if (name === 'get') read += 1;
        const member = target[name as keyof ReadModelStore];
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
    const { apisWithPolicy } = worldAfter(watched, { objects: [] }, org, new Set());
    expect(read).to.equal(0);
    expect(['gold', 'silver', 'none'].map(apisWithPolicy)).to.deep.equal([['orders', 'pets'], ['orders'], []]);
    expect(read).to.equal(3);
  });
});
