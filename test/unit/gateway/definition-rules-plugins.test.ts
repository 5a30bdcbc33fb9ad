/** Rules on plugins, a row each: the Limits of the product document with the field that breaks them. */
import { expect } from 'chai';
import { check, custom, global, on, plugins, type Row, refuses } from '../../support/definition-rows.ts';

const refused: readonly Row[] = [
  // Plugins: the Limits table, with the field that breaks it.
  [
    'JavaScript after authentication',
    plugins('otto', { postAuthenticationPlugins: [on('f')] }),
    'middleware/global/postAuthenticationPlugins/0',
    'plugin_hook_unsupported',
  ],
  [
    'JavaScript on the response, in the second entry',
    plugins('otto', { responsePlugins: [{ ...on('f'), enabled: false }, on('g')] }),
    'middleware/global/responsePlugins/1',
    'plugin_hook_unsupported',
  ],
  [
    'JavaScript on the response, in a wrapper',
    plugins('otto', { responsePlugin: { plugins: [on('f')] } }),
    'middleware/global/responsePlugin/plugins/0',
    'plugin_hook_unsupported',
  ],
  [
    'JavaScript told by its suffix alone',
    global({ responsePlugins: [on('f', 'a.js')] }),
    'middleware/global/responsePlugins/0',
    'plugin_hook_unsupported',
  ],
  [
    'JavaScript for traffic logs',
    plugins('otto', { trafficLogs: { enabled: true, plugins: [on('f')] } }),
    'middleware/global/trafficLogs/plugins/0',
    'plugin_hook_unsupported',
  ],
  [
    'JavaScript for authentication',
    custom({ config: on('f') }, { driver: 'otto' }),
    'server/authentication/custom/config',
    'plugin_hook_unsupported',
  ],
  [
    'a driver that there is not',
    plugins('pyton', {}),
    'middleware/global/pluginConfig/driver',
    'plugin_driver_unknown',
  ],
  [
    'a file of another language',
    plugins('python', { prePlugins: [on('f', 'a.py'), on('g', 'b.lua')] }),
    'middleware/global/prePlugins/1/path',
    'plugin_driver_mixed',
  ],
  [
    'two languages without a driver',
    global({ prePlugins: [on('f', 'a.py')], postPlugins: [on('g', 'b.lua')] }),
    'middleware/global/pluginConfig/driver',
    'plugin_driver_mixed',
  ],
  [
    'a plugin without any driver',
    global({ prePlugins: [on('f')] }),
    'middleware/global/pluginConfig/driver',
    'plugin_driver_missing',
  ],
  [
    'a driver in an entry',
    plugins('otto', { prePlugins: [{ ...on('f'), driver: 'lua' }] }),
    'middleware/global/prePlugins/0/driver',
    'plugin_driver_entry',
  ],
  [
    'a source in the definition',
    plugins('otto', { prePlugins: [{ ...on('f'), code: 'x' }] }),
    'middleware/global/prePlugins/0/code',
    'plugin_code_inline',
  ],
  [
    'list and wrapper that differ',
    plugins('otto', { prePlugins: [on('f')], prePlugin: { plugins: [on('g')] } }),
    'middleware/global/prePlugins',
    'plugin_lists_conflict',
  ],
  ['custom authentication without plugin', custom({}), 'server/authentication/custom/config', 'auth_plugin_missing'],
  [
    'custom authentication that fails open',
    custom({ config: { ...on('f'), failureMode: 'open' } }),
    'server/authentication/custom/config/failureMode',
    'plugin_failure_open',
  ],
  [
    'an extractor without its header',
    custom({ config: { ...on('f'), idExtractor: { enabled: true, source: 'header', with: 'value' } } }),
    'server/authentication/custom/config/idExtractor/config/headerName',
    'required',
  ],
  [
    'a word that no extractor knows',
    custom({ config: { ...on('f'), idExtractor: { enabled: false, source: 'headers', with: 'value' } } }),
    'server/authentication/custom/config/idExtractor/source',
    'enum',
  ],
  [
    'a bundle without path',
    global({ pluginConfig: { driver: 'lua', bundle: { enabled: true, path: ' ' } } }),
    'middleware/global/pluginConfig/bundle/path',
    'plugin_bundle_path',
  ],
  [
    'a bundle that climbs',
    global({ pluginConfig: { driver: 'lua', bundle: { enabled: true, path: 'a/../../b.zip' } } }),
    'middleware/global/pluginConfig/bundle/path',
    'plugin_bundle_path',
  ],
  [
    'a bundle at an address of its own',
    global({ pluginConfig: { driver: 'lua', bundle: { enabled: true, path: 'https://a/b.zip' } } }),
    'middleware/global/pluginConfig/bundle/path',
    'plugin_bundle_path',
  ],
];

describe('plugins are refused for', () => {
  refuses(refused);

  it('a forbidden hook before it is said that plugins are not run', () => {
    const { problems } = check(plugins('otto', { responsePlugins: [on('f')] }));
    expect(problems.map(({ code }) => code)).to.deep.equal(['plugin_hook_unsupported', 'not_offered']);
    expect(problems[0]?.message).to.equal('driver "otto" supports pre and post request plugins only');
  });
});
