/** The table of the two written forms, a definition for each of its rows: what is said there, and what it is here. */
import { authenticationRows } from './classic-authentication-rows.ts';
import { type ClassicRow, global, row, server, version } from './classic-definitions.ts';
import { generalRows } from './classic-general-rows.ts';
import { upstreamRows } from './classic-upstream-rows.ts';

const hook = { name: 'Fn', path: 'f.py', disabled: false, require_session: true, raw_body_only: false };
const hooked = { functionName: 'Fn', path: 'f.py', enabled: true, requireSession: true, rawBodyOnly: false };
const plugins: readonly ClassicRow[] = [
  row(
    'hooks',
    { custom_middleware: { driver: 'python', pre: [hook], post_key_auth: [hook], post: [hook], response: [hook] } },
    global({
      pluginConfig: { driver: 'python' },
      ...{
        prePlugins: [hooked],
        postAuthenticationPlugins: [hooked],
        postPlugins: [hooked],
        responsePlugins: [hooked],
      },
    }),
  ),
  row(
    'bundle and data',
    {
      ...{ custom_middleware_bundle: 'b.zip', custom_middleware_bundle_disabled: true },
      ...{ config_data: { a: 1 }, config_data_disabled: false },
    },
    global({
      pluginConfig: { bundle: { enabled: false, path: 'b.zip' }, data: { enabled: true, value: { a: 1 } } },
    }),
  ),
  row(
    'analytics plugins',
    {
      analytics_plugins: [
        { enable: true, func_name: 'A', plugin_path: 'a.so' },
        { enable: false, func_name: 'B' },
      ],
    },
    global({
      trafficLogs: {
        plugins: [
          { enabled: true, functionName: 'A', path: 'a.so' },
          { enabled: false, functionName: 'B' },
        ],
      },
    }),
  ),
  row(
    'events',
    {
      event_handlers: {
        events: {
          AuthFailure: [
            {
              handler_name: 'eh_web_hook_handler',
              handler_meta: {
                ...{ disabled: false, id: 'w1', name: 'hook', method: 'POST', target_path: 'http://127.0.0.1/w' },
                ...{ template_path: 't', header_map: { a: 'clear' }, event_timeout: 60 },
              },
            },
            { handler_name: 'eh_log_handler', handler_meta: { disabled: true, prefix: 'p' } },
          ],
          KeyExpired: [
            { handler_name: 'eh_dynamic_handler', handler_meta: { disabled: false, name: 'fn', path: 'x.js' } },
            { handler_name: 'cp_dynamic_handler', handler_meta: { disabled: false, name: 'fn' } },
          ],
        },
      },
    },
    server({
      eventHandlers: [
        {
          ...{ enabled: true, trigger: 'AuthFailure', type: 'webhook', id: 'w1', name: 'hook', method: 'POST' },
          ...{ url: 'http://127.0.0.1/w', bodyTemplate: 't', headers: [{ name: 'a', value: 'clear' }] },
          cooldownPeriod: '1m',
        },
        { enabled: false, trigger: 'AuthFailure', type: 'log', logPrefix: 'p' },
        { enabled: true, trigger: 'KeyExpired', type: 'custom', functionName: 'fn', path: 'x.js' },
        { enabled: true, trigger: 'KeyExpired', type: 'plugin', functionName: 'fn' },
      ],
    }),
  ),
];

const versions: readonly ClassicRow[] = [
  row(
    'headers of a version',
    version({
      ...{ global_headers: { 'x-a': '1' }, global_headers_remove: ['x-b'], global_headers_disabled: false },
      ...{ global_response_headers: { 'x-c': '1' }, global_response_headers_remove: ['x-d'] },
    }),
    global({
      transformRequestHeaders: { enabled: true, add: [{ name: 'x-a', value: '1' }], remove: ['x-b'] },
      transformResponseHeaders: { enabled: true, add: [{ name: 'x-c', value: '1' }], remove: ['x-d'] },
    }),
  ),
  row(
    'size and case of a version',
    version({ global_size_limit: 100, ignore_endpoint_case: true }),
    global({ requestSizeLimit: { enabled: true, value: 100 }, ignoreCase: { enabled: true } }),
  ),
];

/** The members of a row are all that it says. */
export const classicRows: readonly ClassicRow[] = [
  ...generalRows,
  ...authenticationRows,
  ...upstreamRows,
  ...plugins,
  ...versions,
];
