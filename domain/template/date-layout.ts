/** Dates by Go's layouts, in which a reference moment shows the form: `2006-01-02 15:04:05 -0700`. */
import { Moment } from './value.ts';

const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November'],
  'December',
];
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const chunk =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|__2|_2(?!006)|002|0[1-6]|15|PM|pm|[-Z]07(?::00:00|0000|:00|00)?|[.,](?:0+|9+)(?!\d)|[1-5]/g;

type Wall = {
  readonly at: Date;
  readonly offsetMinutes: number;
  readonly zone: string;
};

/** The wall clock of the zone, in the UTC fields of a date. */
function wallOf({ ms, zone }: Moment): Wall {
  const offsetMinutes = zone === 'UTC' ? 0 : offsetOf(ms, zone);
  return { at: new Date(ms + offsetMinutes * 60_000), offsetMinutes, zone };
}

function offsetOf(ms: number, zone: string): number {
  const fixed = /^([-+])(\d\d):(\d\d)$/.exec(zone);
  if (fixed) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3]));
  const parts = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  }).formatToParts(ms);
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value ?? 0);
  const wall = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return Math.round((wall - Math.floor(ms / 1_000) * 1_000) / 60_000);
}

export const isZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
};

export function dateText(moment: Moment, layout: string): string {
  const wall = wallOf(moment);
  const known = new Map<string, string>();
  return layout.replace(chunk, (part) => {
    const text = known.get(part) ?? partText(part, wall);
    known.set(part, text);
    return text;
  });
}

const two = (value: number): string => String(value).padStart(2, '0');

function partText(part: string, wall: Wall): string {
  const { at } = wall;
  const hour12 = at.getUTCHours() % 12 || 12;
  if (/^[.,]/.test(part)) return fractionText(part, at.getUTCMilliseconds());
  if (/^[-Z]07/.test(part)) return zoneText(part, wall.offsetMinutes);
  const simple = dateParts(at)[part];
  if (simple !== undefined) return simple;
  switch (part) {
    case '15':
      return two(at.getUTCHours());
    case '3':
      return String(hour12);
    case '03':
      return two(hour12);
    case 'PM':
      return at.getUTCHours() >= 12 ? 'PM' : 'AM';
    case 'pm':
      return at.getUTCHours() >= 12 ? 'pm' : 'am';
    case 'MST':
      return abbreviation(wall);
    default:
      return part;
  }
}

function dateParts(at: Date): Readonly<Record<string, string>> {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  const ofYear = Math.round((Date.UTC(year, month, day) - Date.UTC(year, 0, 1)) / 86_400_000) + 1;
  const [name = '', weekday = ''] = [months[month], days[at.getUTCDay()]];
  return {
    ...{ January: name, Jan: name.slice(0, 3), '01': two(month + 1), '1': String(month + 1) },
    ...{ Monday: weekday, Mon: weekday.slice(0, 3), '02': two(day), _2: String(day).padStart(2), '2': String(day) },
    ...{ '002': String(ofYear).padStart(3, '0'), __2: String(ofYear).padStart(3) },
    ...{ '2006': String(year).padStart(4, '0'), '06': two(year % 100) },
    ...{ '04': two(at.getUTCMinutes()), '4': String(at.getUTCMinutes()) },
    ...{ '05': two(at.getUTCSeconds()), '5': String(at.getUTCSeconds()) },
  };
}

/** Nines leave zeros at the end away, and the point when nothing is left. */
function fractionText(part: string, ms: number): string {
  const digits = String(ms)
    .padStart(3, '0')
    .padEnd(9, '0')
    .slice(0, part.length - 1);
  if (part[1] === '0') return part.charAt(0) + digits;
  const short = digits.replace(/0+$/, '');
  return short === '' ? '' : part.charAt(0) + short;
}

function zoneText(part: string, offsetMinutes: number): string {
  if (part.startsWith('Z') && offsetMinutes === 0) return 'Z';
  const minutes = Math.abs(offsetMinutes);
  const [hh, mm] = [two(Math.floor(minutes / 60)), two(minutes % 60)];
  const form = part.slice(3);
  const rest = form === '' ? '' : form.startsWith(':') ? `:${mm}` : mm;
  const seconds = form === ':00:00' ? ':00' : form === '0000' ? '00' : '';
  return `${offsetMinutes < 0 ? '-' : '+'}${hh}${rest}${seconds}`;
}

function abbreviation({ at, offsetMinutes, zone }: Wall): string {
  if (zone === 'UTC') return 'UTC';
  if (/^[-+]/.test(zone)) return zoneText('-0700', offsetMinutes);
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'short' });
  const name = parts.formatToParts(at.getTime() - offsetMinutes * 60_000).find(({ type }) => type === 'timeZoneName');
  return name?.value ?? zone;
}

type Read = Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'ms', number> & {
  isAfternoon?: boolean;
  offsetMinutes?: number;
};

/** A date has no more; the pattern that is made of them stays quick. */
const maxParts = 12;
const maxLayout = 200;

/** Undefined when the text is not of this form. */
export function dateFrom(text: string, layout: string): Moment | undefined {
  if (layout.length > maxLayout) return undefined;
  const parts: string[] = [];
  let pattern = '';
  let last = 0;
  for (const found of layout.matchAll(chunk)) {
    pattern += escapePattern(layout.slice(last, found.index)) + patternOf(found[0]);
    parts.push(found[0]);
    last = found.index + found[0].length;
  }
  if (parts.length > maxParts) return undefined;
  const values = new RegExp(`^${pattern}${escapePattern(layout.slice(last))}$`, 'i').exec(text)?.slice(1);
  if (!values) return undefined;
  const read: Read = { year: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0, ms: 0 };
  for (const [index, part] of parts.entries()) take(read, part, values[index] ?? '');
  return momentOf(read);
}

function momentOf(read: Read): Moment | undefined {
  const { year, month, day, minute, second, ms, isAfternoon, offsetMinutes = 0 } = read;
  const hour = isAfternoon === undefined ? read.hour : (read.hour % 12) + (isAfternoon ? 12 : 0);
  const utc = new Date(0);
  utc.setUTCFullYear(year, month - 1, day);
  if (utc.getUTCMonth() !== month - 1 || utc.getUTCDate() !== day) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  utc.setUTCHours(hour, minute, second, ms);
  const zone = offsetMinutes === 0 ? 'UTC' : zoneText('-07:00', offsetMinutes);
  return new Moment(utc.getTime() - offsetMinutes * 60_000, zone);
}

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

function patternOf(part: string): string {
  if (part === '2006') return '(\\d{4})';
  if (part === 'January') return `(${months.join('|')})`;
  if (part === 'Jan') return `(${months.map((name) => name.slice(0, 3)).join('|')})`;
  if (part === 'Monday') return `(${days.join('|')})`;
  if (part === 'Mon') return `(${days.map((name) => name.slice(0, 3)).join('|')})`;
  if (part === 'PM' || part === 'pm') return '([ap]m)';
  if (part === 'MST') return '([A-Z]{3,4})';
  if (/^[-Z]07/.test(part)) return '(Z|[-+]\\d\\d(?::?\\d\\d(?::?\\d\\d)?)?)';
  if (/^[.,]9/.test(part)) return '((?:[.,]\\d{1,9})?)';
  if (/^[.,]/.test(part)) return `([.,]\\d{${part.length - 1}})`;
  if (part === '05' || part === '5') return '(\\d{1,2}(?:\\.\\d{1,9})?)';
  if (part.endsWith('002') || part === '__2') return '( {0,2}\\d{1,3})';
  return part.startsWith('0') || part === '15' ? '(\\d{2})' : '( ?\\d{1,2})';
}

function take(read: Read, part: string, value: string): void {
  const number = Number(value);
  if (part === '2006') read.year = number;
  else if (part === '06') read.year = number < 69 ? 2_000 + number : 1_900 + number;
  else if (part === 'January' || part === 'Jan') {
    const short = value.slice(0, 3).toLowerCase();
    read.month = months.findIndex((name) => name.toLowerCase().startsWith(short)) + 1;
  } else if (part === '01' || part === '1') read.month = number;
  else if (part === '02' || part === '2' || part === '_2') read.day = number;
  else if (part === '15' || part === '03' || part === '3') read.hour = number;
  else if (part === '04' || part === '4') read.minute = number;
  else if (part === '05' || part === '5') [read.second, read.ms] = [Math.floor(number), millisOf(value)];
  else if (/^[.,]/.test(part)) read.ms = millisOf(value) || read.ms;
  else if (part === 'PM' || part === 'pm') read.isAfternoon = value.toLowerCase() === 'pm';
  else if (/^[-Z]07/.test(part)) read.offsetMinutes = offsetFrom(value);
}

const millisOf = (value: string): number => Number((/[.,](\d+)/.exec(value)?.[1] ?? '0').padEnd(3, '0').slice(0, 3));

function offsetFrom(value: string): number {
  const [, sign, hours = '0', minutes = '0'] = /^([-+])(\d\d):?(\d\d)?/.exec(value) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes ?? 0));
}
