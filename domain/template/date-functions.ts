/** Functions on dates. What is local is UTC: the result does not depend on where a gateway stands. */
import { dateFrom, dateText, isZone } from './date-layout.ts';
import { TemplateFailure } from './failure.ts';
import { type FunctionTable, type Run, taking } from './functions.ts';
import { text, toInteger } from './operands.ts';
import { Moment, type Value } from './value.ts';

/** A date, seconds since 1970, or RFC 3339. */
function momentOf(value: Value, { port }: Run): Moment {
  if (value instanceof Moment) return value;
  if (typeof value === 'bigint' || typeof value === 'number') return bounded(Number(value) * 1_000, 'UTC');
  const read = typeof value === 'string' ? dateFrom(value, '2006-01-02T15:04:05Z07:00') : undefined;
  return read ?? new Moment(port.nowMs());
}

/** What a calendar can tell. */
const furthestMs = 8.64e15;

function bounded(ms: number, zone: string): Moment {
  if (!(Math.abs(ms) <= furthestMs - 86_400_000)) throw new TemplateFailure('the date is too far away');
  return new Moment(Math.trunc(ms), zone);
}

const units: Readonly<Record<string, number>> = {
  ...{ ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 },
};

/** `-1h30m`, `1.5s`; undefined for anything else. */
function durationMs(value: string): number | undefined {
  const [, sign = '', rest = ''] = /^([-+]?)(.*)$/.exec(value) ?? [];
  if (rest === '0') return 0;
  if (!/^(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+$/.test(rest)) return undefined;
  const parts = [...rest.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)];
  const sum = parts.reduce((total, [, count, unit = '']) => total + Number(count) * (units[unit] ?? 0), 0);
  return sign === '-' ? -sum : sum;
}

/** `1h2m3s`. */
function durationText(seconds: bigint): string {
  const all = seconds < 0n ? -seconds : seconds;
  const [h, m, s] = [all / 3_600n, (all / 60n) % 60n, all % 60n];
  const parts = `${h > 0n ? `${h}h` : ''}${all >= 60n ? `${m}m` : ''}${s}s`;
  return seconds < 0n ? `-${parts}` : parts;
}

/** Of each letter of a layout a date may make several. */
function dateIn(layout: Value, moment: Moment, { budget }: Run): string {
  budget.spend(Math.ceil(text(layout).length / 4));
  const result = dateText(moment, text(layout));
  budget.make(result.length);
  return result;
}

export const dateFunctions: FunctionTable = {
  now: taking(0, 0, (_, { port }) => new Moment(port.nowMs())),
  date: taking(2, 2, ([layout, value], run) => dateIn(layout, momentOf(value, run), run)),
  dateInZone: taking(3, 3, ([layout, value, zone], run) => {
    const name = text(zone) === '' || text(zone) === 'Local' ? 'UTC' : text(zone);
    return dateIn(layout, new Moment(momentOf(value, run).ms, isZone(name) ? name : 'UTC'), run);
  }),
  dateModify: taking(2, 2, ([by, value], run) => {
    const { ms, zone } = momentOf(value, run);
    return bounded(ms + (durationMs(text(by)) ?? 0), zone);
  }),
  duration: taking(1, 1, ([seconds]) => durationText(toInteger(seconds))),
  toDate: taking(2, 2, ([layout, value]) => {
    const read = dateFrom(text(value), text(layout));
    if (!read) throw new TemplateFailure('toDate: the text is not of this form');
    return read;
  }),
  unixEpoch: taking(1, 1, ([value], run) => String(Math.floor(momentOf(value, run).ms / 1_000))),
};
