/** JSON Schemas that are compiled when something is judged by them for the first time: a start waits for none of them. */
import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../../domain/event.ts';

/** Like what Ajv compiles; `errors` are those of the last value that was judged. */
export type Validate<T> = ((value: unknown) => value is T) & { readonly errors: readonly ErrorObject[] };

type Library = { readonly Ajv2020: typeof Ajv2020 };

/** Problems of a value are all told, and schemas may name what only our pages read. */
export function lateSchema<T = unknown>(schema: JsonObject): Validate<T> {
  let compiled: ValidateFunction<T> | undefined;
  const validate = (value: unknown): value is T => {
    compiled ??= compile<T>(schema);
    return compiled(value);
  };
  return Object.defineProperty(validate, 'errors', { get: () => compiled?.errors ?? [] }) as Validate<T>;
}

function compile<T>(schema: JsonObject): ValidateFunction<T> {
  const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as Library;
  return new Ajv2020({ allErrors: true, strict: false }).compile<T>(schema);
}
