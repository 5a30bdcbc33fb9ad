/** Reads the durations of a definition: ISO 8601 without years and months, and the short form (api-definition design 0.7). */

const isoPattern =
  /^P(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;
const isoUnitsMs = [604_800_000, 86_400_000, 3_600_000, 60_000, 1000];

const shortUnitsMs: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
  ns: 0.000_001,
};
const shortPattern = /^(?:\d+(?:\.\d+)?(?:ms|us|ns|h|m|s))+$/;

/** `PT1M`, `P1DT2H`, `1m`, `1.5s` in ms; undefined when the text is no duration that we accept. */
export function durationMs(text: string): number | undefined {
  if (text.startsWith('P')) return isoMs(text);
  if (!shortPattern.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|us|ns|h|m|s)/g)) {
    total += Number(amount) * (shortUnitsMs[unit ?? ''] ?? 0);
  }
  return total;
}

function isoMs(text: string): number | undefined {
  const match = isoPattern.exec(text);
  if (!match || text === 'P' || text.endsWith('T')) return undefined;
  return isoUnitsMs.reduce((total, unit, index) => total + Number(match[index + 1] ?? 0) * unit, 0);
}
