/** What a start prints for people: of what runs, and of nothing else. */
import { expect } from 'chai';
import { announceStart } from '../../../../src/compose/announce.ts';
import { loadSettings } from '../../../../src/config/load.ts';

const { settings } = loadSettings({ env: { SVC_STORE_URL: 'postgres://svc:Pass-1@127.0.0.1/svc' } });

const linesOf = (revision: string | undefined): readonly string[] => {
  const lines: string[] = [];
  const started = { version: '1.2.3', sample: undefined, adminToken: undefined };
  announceStart((line) => lines.push(line), {
    ...{ settings, revision, ...started },
    addresses: { gateway: 'http://127.0.0.1:7001/' },
  });
  return lines;
};

describe('the lines of a start', () => {
  for (const [what, revision, first] of [
    [
      'name the store of management, without its password, and where its log is',
      '12',
      'svc 1.2.3   store postgres:   position 12',
    ],
    ['name no store where management runs elsewhere', undefined, 'svc 1.2.3'],
  ] as const) {
    it(what, () => {
      expect(linesOf(revision)).to.deep.equal([first, '  gateway     http://127.0.0.1:7001', 'ready']);
    });
  }
});
