/** The few shapes that the schemas of the extension are made of (JSON Schema 2020-12 as plain data). */
import type { Json } from '../../event.ts';
import type { Schema } from '../../json-schema-keywords.ts';

export const text: Schema = { type: 'string' };
/** At least one character that is no white space. */
export const filledText: Schema = { type: 'string', pattern: '\\S' };
export const flag: Schema = { type: 'boolean' };
/** What holds where the member is absent, for people and editors: readers of definitions know it themselves. */
export const preset = (value: Json, schema: Schema): Schema => ({ ...schema, default: value });
export const off: Schema = preset(false, flag);
export const integer: Schema = { type: 'integer' };
export const count: Schema = { type: 'integer', minimum: 0 };
export const status: Schema = { type: 'integer', minimum: 100, maximum: 599 };
/** Free JSON object. */
export const anyObject: Schema = { type: 'object' };
/** A duration, ISO 8601 or short; what the text means is checked in `rules.ts`. */
export const duration: Schema = { type: 'string', 'x-svc-format': 'duration' };
/** A regular expression in RE2 syntax. */
export const expression: Schema = { type: 'string', 'x-svc-format': 're2' };
export const httpToken: Schema = { type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" };

/** One of these words; the empty text says nothing. */
export const word = (...words: readonly string[]): Schema => ({ type: 'string', enum: [...words, ''] });

export const list = (items: Schema): Schema => ({ type: 'array', items });

export const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  required,
});

/** An object with an `enabled` that must be there. */
export const block = (properties: Readonly<Record<string, Schema>> = {}, required: readonly string[] = []): Schema =>
  object({ enabled: flag, ...properties }, ['enabled', ...required]);

/** An object whose members all have one shape. */
export const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values });

/** Name and value pairs of headers. */
export const headerPairs: Schema = list(object({ name: httpToken, value: text }, ['name', 'value']));

/** A shape that occurs in several places is written once, below `$defs` of the extension. */
export const shared = (name: string): Schema => ({ $ref: `#/$defs/${name}` });
