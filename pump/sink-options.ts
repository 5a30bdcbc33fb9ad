/** Reads the options of one sink, which come from the user as they are: unknown names and wrong kinds are errors. */
import { nearestName } from '../domain/errors.ts';

export type SinkOptions = {
  text(name: string, fallback?: string): string;
  oneOf<T extends string>(name: string, values: readonly [T, ...T[]]): T;
  count(name: string, fallback: number): number;
  texts(name: string): readonly string[];
};

export function readOptions(meta: Readonly<Record<string, unknown>>, known: readonly string[]): SinkOptions {
  const stranger = Object.keys(meta).find((name) => !known.includes(name));
  if (stranger !== undefined) {
    const nearest = nearestName(stranger, known);
    throw new Error(`meta.${stranger}: unknown option${nearest ? `; did you mean "${nearest}"?` : ''}`);
  }
  const wrong = (name: string, kind: string): Error => new Error(`meta.${name}: must be ${kind}`);
  function text(name: string, fallback?: string): string {
    const value = meta[name] ?? fallback;
    if (typeof value !== 'string' || value === '') throw wrong(name, 'a text');
    return value;
  }
  return {
    text,
    oneOf(name, values) {
      const value = text(name, values[0]);
      const found = values.find((known) => known === value);
      if (found === undefined) throw wrong(name, `one of ${values.join(', ')}`);
      return found;
    },
    count(name, fallback) {
      // The environment gives texts only.
      const value = Number(meta[name] ?? fallback);
      if (!Number.isSafeInteger(value) || value <= 0) throw wrong(name, 'a whole number above 0');
      return value;
    },
    texts(name) {
      const value = meta[name] ?? [];
      if (!Array.isArray(value) || value.some((entry) => typeof entry !== 'string'))
        throw wrong(name, 'a list of texts');
      return value as readonly string[];
    },
  };
}
