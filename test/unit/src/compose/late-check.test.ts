/** The check of APIs while its rules are not loaded: what passed them is read, anything else waits, and nothing passes unasked. */
import { expect } from 'chai';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { createCheckApi } from '../../../../gateway/check-api.ts';
import { createLateCheckApi } from '../../../../src/compose/late-check.ts';
import { classicDefinition } from '../../../support/classic-definitions.ts';
import { apiDocument } from '../../../support/documents.ts';

const api = { apiId: toApiId('orders'), orgId: toOrgId('org'), kind: 'oas', document: apiDocument() } as const;
const classic = { ...api, kind: 'classic', document: classicDefinition('orders', 'http://127.0.0.1:1/') } as const;

describe('a late check', () => {
  it('reads what the rules have let through, and judges nothing without them', async () => {
    const { checkApi, headOf, loadRules } = createLateCheckApi();
    const whole = createCheckApi();
    expect(checkApi(api, true).definition).to.deep.equal(whole(api).definition);
    for (const ask of [() => checkApi(api), () => checkApi(classic, true)]) {
      expect(ask).to.throw('the rules on API definitions are not loaded');
    }
    expect(headOf(api.document)).to.equal(api.document);
    expect(() => headOf(classic.document)).to.throw('are not loaded');
    await loadRules();
    expect(headOf(api.document)).to.equal(api.document);
    expect(headOf(classic.document)).to.have.property('openapi');
    expect(checkApi(api).definition).to.deep.equal(whole(api).definition);
    expect(checkApi(classic, true).definition).to.deep.equal(whole(classic).definition);
    const wrong = { ...api, document: { openapi: '3.0.3' } };
    expect(checkApi(wrong).problems).to.deep.equal(whole(wrong).problems);
  });
});
