/** The kinds of values that the configuration knows, as JSON Schema. */

export type Unit = 'milliseconds' | 'seconds' | 'bytes';

/** The part of JSON Schema 2020-12 that this configuration uses; `x-unit` is the unit of a bare number. */
export type ConfigSchema = {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, ConfigSchema>>;
  readonly additionalProperties?: boolean | ConfigSchema;
  readonly propertyNames?: ConfigSchema;
  readonly required?: readonly string[];
  readonly items?: ConfigSchema;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  /** A secret: never printed, never given on a command line. */
  readonly writeOnly?: boolean;
  readonly 'x-unit'?: Unit;
};

type Properties = Readonly<Record<string, ConfigSchema>>;

export const group = (description: string, properties: Properties, required?: readonly string[]): ConfigSchema => ({
  type: 'object',
  description,
  additionalProperties: false,
  properties,
  ...(required ? { required } : {}),
});

export const text = (description: string, value?: string): ConfigSchema => ({
  type: 'string',
  minLength: 1,
  description,
  ...(value === undefined ? {} : { default: value }),
});

export const secret = (description: string, minLength: number): ConfigSchema => ({
  type: 'string',
  description: `${description} At least ${minLength} characters, not a well-known word.`,
  writeOnly: true,
});

export const oneOf = (values: readonly string[], value: string, description: string): ConfigSchema => ({
  type: 'string',
  enum: values,
  default: value,
  description,
});

export const flag = (value: boolean, description: string): ConfigSchema => ({
  type: 'boolean',
  default: value,
  description,
});

export const count = (value: number, minimum: number, maximum: number, description: string): ConfigSchema => ({
  type: 'integer',
  minimum,
  maximum,
  default: value,
  description,
});

export const listen = (value: string, description: string): ConfigSchema => ({
  type: 'string',
  pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]*):[0-9]{1,5}$',
  default: value,
  description: `${description} Written host:port; port 0 takes a free one.`,
});

export const duration = (value: string, unit: Unit, description: string): ConfigSchema => ({
  type: ['string', 'number'],
  pattern: '^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)$',
  minimum: 0,
  default: value,
  description: `${description} A bare number means ${unit}.`,
  'x-unit': unit,
});

export const size = (value: string | undefined, minimum: number, description: string): ConfigSchema => ({
  type: ['string', 'number'],
  pattern: '^[0-9]+(\\.[0-9]+)?(B|KiB|MiB|GiB|TiB|kB|MB|GB|TB)$',
  minimum,
  ...(value === undefined ? {} : { default: value }),
  description: `${description} A bare number means bytes.`,
  'x-unit': 'bytes',
});

export const texts = (description: string): ConfigSchema => ({
  type: 'array',
  items: { type: 'string', minLength: 1 },
  default: [],
  description,
});

export const counts = (
  value: readonly number[],
  minimum: number,
  maximum: number,
  description: string,
): ConfigSchema => ({
  type: 'array',
  items: { type: 'integer', minimum, maximum },
  default: value,
  description,
});
