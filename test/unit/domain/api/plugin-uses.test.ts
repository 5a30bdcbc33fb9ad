/** The names under which plugins of two definitions are compared. */
import { expect } from 'chai';
import { namedPlugins } from '../../../../domain/api/plugin-uses.ts';
import { apiDocument } from '../../../support/documents.ts';

describe('namedPlugins', () => {
  const entry = (functionName: string, enabled = true) => ({ enabled, functionName, path: 'middleware/a.js' });
  it('names what is switched on, in lists and in their older wrappers, and leaves out the rest', () => {
    const document = apiDocument({
      global: {
        pluginConfig: { driver: 'otto', bundle: { enabled: true, path: 'b.zip' } },
        prePlugins: [entry('one'), entry('off', false)],
        responsePlugin: { plugins: [entry('two')] },
      },
      operations: {
        getA: { postPlugins: [entry('three')], virtualEndpoint: { enabled: true, functionName: 'four' } },
      },
      server: { authentication: { enabled: true, custom: { enabled: true, config: entry('five') } } },
    });
    expect(namedPlugins(document)).to.have.members([
      ...['bundle b.zip', 'pre one middleware/a.js', 'response two middleware/a.js'],
      ...['getA post three middleware/a.js', 'getA virtual_endpoint four', 'custom_auth five middleware/a.js'],
    ]);
  });
  it('names nothing of a definition without plugins', () => {
    expect(namedPlugins(apiDocument())).to.deep.equal([]);
  });
});
