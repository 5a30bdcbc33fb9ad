/** Every function that templates know, by name. */
import { builtInFunctions } from './built-in-functions.ts';
import { dateFunctions } from './date-functions.ts';
import { expressionFunctions } from './expression-functions.ts';
import type { TemplateFunction } from './functions.ts';
import { listFunctions } from './list-functions.ts';
import { mapFunctions } from './map-functions.ts';
import { numberFunctions } from './number-functions.ts';
import { otherFunctions } from './other-functions.ts';
import { textFunctions } from './text-functions.ts';

/** A `Map`: no name of a template reaches anything else. */
export const templateFunctions: ReadonlyMap<string, TemplateFunction> = new Map(
  [
    ...[builtInFunctions, textFunctions, expressionFunctions, numberFunctions, listFunctions, mapFunctions],
    ...[dateFunctions, otherFunctions],
  ].flatMap((table) => Object.entries(table)),
);
