/** JSON Schemas that are compiled when something is judged by them for the first time: a start waits for none of them. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../../domain/event.ts';

/** Like what Ajv compiles; `errors` are those of the last value that was judged. */
export type Validate<T> = ((value: unknown) => value is T) & { readonly errors: readonly ErrorObject[] };

/** Problems of a value are all told, and schemas may name what only our pages read. */
export function lateSchema<T = unknown>(schema: JsonObject): Validate<T> {
  let compiled: ValidateFunction<T> | undefined;
  const validate = (value: unknown): value is T => {
    compiled ??= new Ajv2020({ allErrors: true, strict: false }).compile<T>(schema);
    return compiled(value);
  };
  return Object.defineProperty(validate, 'errors', { get: () => compiled?.errors ?? [] }) as Validate<T>;
}
