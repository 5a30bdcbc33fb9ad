/** Opens the copy of an answer that may be kept: the last step of the response half, so that what is kept is what the others made of it. */
import type { Step } from '../../http/context.ts';
import { Copy } from './copy.ts';

export const cacheWrite: Step = function cacheWrite({ copy }) {
  if (copy instanceof Copy) copy.open();
  return undefined;
};
