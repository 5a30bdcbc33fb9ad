/** Regular expressions of users, in linear time: what compiles them is loaded with the first of them. */
import { createRequire } from 'node:module';
import type * as Re2 from 're2js';

const require = createRequire(import.meta.url);

/** The compiler throws for a text that is no RE2 expression. */
export const re2 = (): typeof Re2.RE2JS => (require('re2js') as typeof Re2).RE2JS;
