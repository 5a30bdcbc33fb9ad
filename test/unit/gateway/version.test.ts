/** The status of an unknown version: a Classic definition has its own (api-definition design 2). */
import { expect } from 'chai';
import type { ApiKind } from '../../../domain/api/definition.ts';
import type { Context, Route } from '../../../gateway/http/context.ts';
import { refusal } from '../../../gateway/http/errors.ts';
import type { Head } from '../../../gateway/http/head.ts';
import { versionPicker } from '../../../gateway/http/version.ts';

const versioning = {
  ...{ name: 'v1', default: '', location: 'url-param' as const, key: 'v', versions: [] },
  ...{ strip: false, fallbackToDefault: false },
};

/** Only what the picker looks at. */
const answerTo = async (kind: ApiKind, query: string) => {
  const base = { definition: { kind }, request: [], guarded: new Set() } as unknown as Route;
  const head = { headers: [], path: '/a', query } as unknown as Head;
  const { route } = versionPicker(base, versioning, () => 'unknown')(head, '/a');
  const context = { refuse: (code: 'version_unknown') => refusal({ code }, { revision: '1', contentType: '' }) };
  return await route.request[0]?.(context as unknown as Context);
};

describe('an unknown version', () => {
  for (const [kind, status] of [
    ['oas', 404],
    ['streams', 404],
    ['classic', 403],
  ] as const) {
    it(`of ${kind} definitions is a ${status}`, async () => {
      expect(await answerTo(kind, '?v=9')).to.deep.include({ status, failure: { code: 'version_unknown' } });
    });
  }
  it('is no version that is missing', async () => {
    expect(await answerTo('classic', '')).to.deep.include({ status: 403, failure: { code: 'version_missing' } });
  });
});
