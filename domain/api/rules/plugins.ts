/** Rules on plugins: one driver per API, which hooks it has, and how entries are written (plugins design 3 and 10). */
import { nearestName, type Problem, type Warning } from '../../errors.ts';
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, isOn, sameJson, textAt } from '../../json.ts';
import { type Path, pointerTo, problem, type Rule, warning } from './rule.ts';

const drivers = ['goplugin', 'otto', 'grpc', 'python', 'lua'] as const;

const globals: Path = ['middleware', 'global'];
const driverPath: Path = [...globals, 'pluginConfig', 'driver'];
const custom: Path = ['server', 'authentication', 'custom'];

/** Hooks in the order of the request; lists win over wrappers when both are there (plugins design 10). */
const hooks = [
  { list: 'prePlugins', wrapper: 'prePlugin', forScripts: true, hasSession: false },
  { list: 'postAuthenticationPlugins', wrapper: 'postAuthenticationPlugin', forScripts: false, hasSession: true },
  { list: 'postPlugins', wrapper: 'postPlugin', forScripts: true, hasSession: true },
  { list: 'responsePlugins', wrapper: 'responsePlugin', forScripts: false, hasSession: true },
] as const;

type Entry = {
  readonly path: Path;
  readonly entry: JsonObject;
  readonly isOn: boolean;
  readonly forScripts: boolean;
  readonly hasSession: boolean;
  /** One of the five phases that share the driver; analytics entries are not. */
  readonly sharesDriver: boolean;
};

/** Every entry of the API, the custom authentication and the analytics plugins included. */
function entriesOf(extension: JsonObject): readonly Entry[] {
  const listed = hooks.flatMap(({ list, wrapper, forScripts, hasSession }) => {
    const own = at(extension, ...globals, list);
    const path = own === undefined ? [...globals, wrapper, 'plugins'] : [...globals, list];
    return entriesAt(extension, path).map((entry) => ({ ...entry, forScripts, hasSession, sharesDriver: true }));
  });
  const config = at(extension, ...custom, 'config');
  const authentication = isObject(config) ? [{ path: [...custom, 'config'], entry: config }] : [];
  const isAsked = isOn(at(extension, 'server', 'authentication')) && isOn(at(extension, ...custom));
  return [
    ...listed,
    ...authentication.map(({ path, entry }) => ({
      ...{ path, entry, isOn: isAsked && isOn(entry), forScripts: false, hasSession: false, sharesDriver: true },
    })),
    ...entriesAt(extension, [...globals, 'trafficLogs', 'plugins']).map((entry) => ({
      ...{ ...entry, forScripts: false, hasSession: true, sharesDriver: false },
    })),
  ];
}

function entriesAt(extension: JsonObject, path: Path): readonly Pick<Entry, 'path' | 'entry' | 'isOn'>[] {
  const entries = at(extension, ...path);
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: Json, index) =>
    isObject(entry) ? [{ path: [...path, String(index)], entry, isOn: isOn(entry) }] : [],
  );
}

const suffixes: Readonly<Record<string, string>> = { so: 'goplugin', js: 'otto', py: 'python', lua: 'lua' };

const driverOfPath = (entry: JsonObject): string | undefined =>
  suffixes[/\.(so|js|py|lua)$/i.exec(textAt(entry, 'path') ?? '')?.[1]?.toLowerCase() ?? ''];

const hasBundle = (extension: JsonObject): boolean => isOn(at(extension, ...globals, 'pluginConfig', 'bundle'));

/** The driver that is written, else the one that the suffixes agree on; `undefined` when neither says. */
function driverOf(extension: JsonObject, entries: readonly Entry[]): string | undefined {
  const written = textAt(extension, ...driverPath);
  if (written) return written;
  const told = new Set(
    entries.filter((entry) => entry.isOn && entry.sharesDriver).map(({ entry }) => driverOfPath(entry)),
  );
  return told.size === 1 ? [...told][0] : undefined;
}

/** A broken rule of an entry that is off is a remark. */
type Remark = Problem & { readonly isOff: boolean };

const remark = ({ path, isOn: on }: Entry, members: Path, code: string, message: string): Remark => ({
  ...problem([...path, ...members], code, message),
  isOff: !on,
});

function entryRemarks(entry: Entry, driver: string | undefined): readonly Remark[] {
  const remarks: Remark[] = [];
  const suffix = driverOfPath(entry.entry);
  // An analytics entry in Go runs beside any driver (plugins design 3).
  const own = !entry.sharesDriver && suffix === 'goplugin' ? suffix : driver;
  if (own === 'otto' && !entry.forScripts) {
    remarks.push(
      remark(entry, [], 'plugin_hook_unsupported', 'driver "otto" supports pre and post request plugins only'),
    );
  }
  if (entry.sharesDriver && driver !== undefined && suffix !== undefined && suffix !== driver && driver !== 'grpc') {
    const text = `is a file of the driver "${suffix}", and the API's is "${driver}": languages are not mixed`;
    remarks.push(remark(entry, ['path'], 'plugin_driver_mixed', text));
  }
  if (textAt(entry.entry, 'code')) {
    remarks.push(remark(entry, ['code'], 'plugin_code_inline', 'sources are files or bundles, never inline'));
  }
  if (entry.entry['driver'] !== undefined) {
    remarks.push(remark(entry, ['driver'], 'plugin_driver_entry', "the driver is the API's: set pluginConfig.driver"));
  }
  return remarks;
}

function allRemarks(extension: JsonObject): readonly Remark[] {
  const entries = entriesOf(extension);
  const driver = driverOf(extension, entries);
  return entries.flatMap((entry) => entryRemarks(entry, driver));
}

export const checksPlugins: Rule = (extension) => [
  ...driverProblems(extension),
  ...allRemarks(extension)
    .filter(({ isOff }) => !isOff)
    .map(({ isOff: _, ...found }) => found),
  ...listConflicts(extension),
  ...authenticationProblems(extension),
  ...bundleProblems(extension),
];

function driverProblems(extension: JsonObject): readonly Problem[] {
  const written = textAt(extension, ...driverPath) ?? '';
  if (written !== '' && !(drivers as readonly string[]).includes(written)) {
    const nearest = nearestName(written, drivers);
    const hint = /^(?:javascript|js)$/i.test(written)
      ? '`otto` runs current JavaScript'
      : nearest
        ? `did you mean "${nearest}"?`
        : `known are ${drivers.join(', ')}`;
    return [problem(driverPath, 'plugin_driver_unknown', `there is no driver "${written}"; ${hint}`)];
  }
  const entries = entriesOf(extension);
  const used = entries.filter((entry) => entry.isOn && entry.sharesDriver);
  if (written !== '' || used.length === 0 || hasBundle(extension) || driverOf(extension, entries) !== undefined)
    return [];
  const suffixesUsed = new Set(used.map(({ entry }) => driverOfPath(entry)).filter((name) => name !== undefined));
  return suffixesUsed.size > 1
    ? [problem(driverPath, 'plugin_driver_mixed', `plugins of several languages: ${[...suffixesUsed].join(', ')}`)]
    : [problem(driverPath, 'plugin_driver_missing', `plugins need one of ${drivers.join(', ')}`)];
}

const listConflicts: (extension: JsonObject) => readonly Problem[] = (extension) =>
  hooks.flatMap(({ list, wrapper }) => {
    const own = at(extension, ...globals, list);
    const wrapped = at(extension, ...globals, wrapper, 'plugins');
    if (!Array.isArray(own) || !Array.isArray(wrapped) || own.length === 0 || wrapped.length === 0) return [];
    return sameJson(own, wrapped)
      ? []
      : [
          problem(
            [...globals, list],
            'plugin_lists_conflict',
            `differs from ${pointerTo(...globals, wrapper, 'plugins')}`,
          ),
        ];
  });

function authenticationProblems(extension: JsonObject): readonly Problem[] {
  if (!isOn(at(extension, 'server', 'authentication')) || !isOn(at(extension, ...custom))) return [];
  const problems: Problem[] = [];
  const config = at(extension, ...custom, 'config');
  if (!hasBundle(extension) && !(isOn(config) && textAt(config, 'functionName')?.trim())) {
    const text = 'custom authentication needs a plugin that is enabled and has a functionName';
    problems.push(problem([...custom, 'config'], 'auth_plugin_missing', text));
  }
  if (textAt(config, 'failureMode') === 'open') {
    const text = 'authentication that fails lets nobody in';
    problems.push(problem([...custom, 'config', 'failureMode'], 'plugin_failure_open', text));
  }
  return [...problems, ...extractorProblems(extension)];
}

const extractorMember: Readonly<Record<string, string>> = {
  header: 'headerName',
  form: 'formParamName',
  querystring: 'formParamName',
};
const extractorWith: Readonly<Record<string, string>> = { regex: 'regexp', xpath: 'xPathExp' };

function extractorProblems(extension: JsonObject): readonly Problem[] {
  const path = [...custom, 'config', 'idExtractor'];
  const extractor = at(extension, ...path);
  if (!isOn(extractor)) return [];
  const wanted = [
    ['source'],
    ['with'],
    ...[extractorMember[textAt(extractor, 'source') ?? ''], extractorWith[textAt(extractor, 'with') ?? '']].flatMap(
      (name) => (name === undefined ? [] : [['config', name]]),
    ),
  ];
  return wanted
    .filter((members) => !textAt(extractor, ...members))
    .map((members) => problem([...path, ...members], 'required', 'is required by this extractor'));
}

const bundleProblems: (extension: JsonObject) => readonly Problem[] = (extension) => {
  const path = [...globals, 'pluginConfig', 'bundle', 'path'];
  if (!hasBundle(extension)) return [];
  const value = textAt(extension, ...path)?.trim() ?? '';
  if (value === '') return [problem(path, 'plugin_bundle_path', 'an enabled bundle needs a path')];
  return /^[a-z][a-z0-9+.-]*:|^\/|(?:^|\/)\.\.(?:\/|$)|\\/i.test(value)
    ? [problem(path, 'plugin_bundle_path', 'is relative to the bundle base address, without ".."')]
    : [];
};

/** Rules that entries break which are off, and members that say nothing where they stand. */
export const pluginWarnings = (extension: JsonObject): readonly Warning[] => [
  ...allRemarks(extension)
    .filter(({ isOff }) => isOff)
    .map(({ pointer, code, message }) => ({ pointer, code, text: message })),
  ...entriesOf(extension)
    .filter(({ entry, hasSession }) => entry['requireSession'] === true && !hasSession)
    .map(({ path }) =>
      warning(
        [...path, 'requireSession'],
        'plugin_session_unused',
        'there is no session before authentication is done',
      ),
    ),
];
