/** The settings that a query lays over a definition at an import and a PATCH, read from its texts (management design 4.1). */
import { nearestName, queryInvalid, type Warning } from '../errors.ts';

/** Absent when not given. */
export type ImportSettings = {
  readonly listenPath?: string;
  readonly customDomain?: string;
  readonly upstreamURL?: string;
  readonly securityProcessingMode?: 'legacy' | 'compliant';
  readonly allowList?: boolean;
  readonly validateRequest?: boolean;
  readonly mockResponse?: boolean;
  readonly authentication?: boolean;
};

/** Where settings are given; each knows others. */
export type SettingsTarget = 'streams' | 'oas' | 'import';

const booleanSettings = ['allowList', 'validateRequest', 'mockResponse', 'authentication'] as const;
const processingModes = ['legacy', 'compliant'] as const;

/** What the target knows. `apiID` names the new API and is no setting of it. */
const settingsOf: Readonly<Record<SettingsTarget, readonly string[]>> = {
  streams: ['listenPath', 'customDomain', ...booleanSettings],
  oas: ['listenPath', 'customDomain', 'upstreamURL', 'securityProcessingMode', ...booleanSettings],
  import: ['listenPath', 'customDomain', 'upstreamURL', 'securityProcessingMode', 'apiID', ...booleanSettings],
};

/** Parameters that every write takes and that are no settings. */
const otherParameters = ['dryRun', 'strict', 'minRevision'];

const trueTexts = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const falseTexts = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Settings by name, the texts as they were given (for the event), and a warning for each parameter that is none. */
export type ParsedSettings = {
  readonly settings: ImportSettings;
  /** The id of an import. */
  readonly apiID?: string;
  readonly given: Readonly<Record<string, string>>;
  readonly warnings: readonly Warning[];
};

/** Names are exact; values are trimmed, empty = not given. A value that does not read is refused, never ignored. */
export function parseSettings(query: Iterable<readonly [string, string]>, target: SettingsTarget): ParsedSettings {
  const known = settingsOf[target];
  const given: Record<string, string> = {};
  const warnings: Warning[] = [];
  for (const [name, value] of query) {
    const trimmed = value.trim();
    if (otherParameters.includes(name)) continue;
    if (!known.includes(name)) warnings.push(unknownParameter(name, known));
    else if (Object.hasOwn(given, name) && given[name] !== trimmed) throw queryInvalid(name, 'given twice');
    else if (trimmed !== '') given[name] = trimmed;
  }
  const { apiID } = given;
  return { settings: readSettings(given, target), ...(apiID === undefined ? {} : { apiID }), given, warnings };
}

function readSettings(given: Readonly<Record<string, string>>, target: SettingsTarget): ImportSettings {
  const { authentication, securityProcessingMode, ...rest } = given;
  // An older way to write the mode, known where the mode is.
  const isMode = target !== 'streams' && authentication === 'compliant';
  const mode = isMode ? (securityProcessingMode ?? authentication) : securityProcessingMode;
  if (isMode && mode !== authentication) throw queryInvalid('authentication', 'contradicts securityProcessingMode');
  const read = Object.entries({ ...rest, ...(isMode || authentication === undefined ? {} : { authentication }) })
    .filter(([name]) => name !== 'apiID')
    .map(([name, text]) => [name, isBoolean(name) ? readBoolean(name, text) : text] as const);
  return {
    ...(Object.fromEntries<string | boolean>(read) as ImportSettings),
    ...(mode === undefined ? {} : { securityProcessingMode: readMode(mode) }),
  };
}

const isBoolean = (name: string): boolean => booleanSettings.some((known) => known === name);

function readBoolean(name: string, value: string): boolean {
  if (trueTexts.has(value)) return true;
  if (falseTexts.has(value)) return false;
  throw queryInvalid(name, `"${value}" is no boolean; use true or false`);
}

function readMode(value: string): 'legacy' | 'compliant' {
  const mode = processingModes.find((known) => known === value);
  if (mode === undefined) throw queryInvalid('securityProcessingMode', `must be ${processingModes.join(' or ')}`);
  return mode;
}

/** Where settings have no effect they are named, and so is what nobody knows. `taken`: what the route knows beside the usual; `idle`: without effect as well. */
export const remarksOn = (
  names: Iterable<string>,
  taken: readonly string[],
  idle: readonly string[] = [],
): readonly Warning[] =>
  [...names]
    .filter((name) => !otherParameters.includes(name) && !taken.includes(name))
    .map((name) =>
      settingsOf.import.includes(name) || idle.includes(name)
        ? { pointer: `/query/${name}`, code: 'parameter_ignored', text: `parameter "${name}" has no effect here` }
        : unknownParameter(name, [...otherParameters, ...taken]),
    );

function unknownParameter(name: string, known: Iterable<string>): Warning {
  const nearest = nearestName(name, known);
  return {
    pointer: `/query/${name}`,
    code: 'unknown_parameter',
    text: `unknown parameter "${name}"${nearest ? `, did you mean "${nearest}"?` : '; it is ignored'}`,
  };
}
