/** Reads durations (`200ms`, `5m`), sizes (`64KiB`) and listen addresses (`host:port`) into numbers and parts. */
import type { Unit } from './schema-shapes.ts';

export type ListenAddress = { readonly host: string; readonly port: number };

const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const sizeUnits: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
};

/** Ms, or undefined when it is not a duration. */
export const durationMs = (value: unknown, unit: Unit = 'milliseconds'): number | undefined =>
  measure(value, durationUnits, unit === 'seconds' ? 1000 : 1);

/** Whole bytes, or undefined when it is not a size. */
export const sizeBytes = (value: unknown): number | undefined => measure(value, sizeUnits, 1);

function measure(value: unknown, units: Readonly<Record<string, number>>, bare: number): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? Math.round(value * bare) : undefined;
  const match = typeof value === 'string' ? /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(value.trim()) : undefined;
  const factor =
    match?.[2] === '' ? bare : Object.hasOwn(units, match?.[2] ?? '') ? units[match?.[2] ?? ''] : undefined;
  if (!match || factor === undefined) return undefined;
  const amount = Math.round(Number(match[1]) * factor);
  return Number.isSafeInteger(amount) ? amount : undefined;
}

/** `[::1]:80`, `host:80`, `:80` (all addresses). */
export function listenAddress(value: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) return undefined;
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}
