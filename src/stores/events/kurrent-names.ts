/** Which streams of a KurrentDB server belong to the log, and which to the engine and to our helpers beside it. */
import type { ServerFilter } from './kurrent-client.ts';

export const identityStream = 'svclog-identity';
export const checksStream = 'svclog-checks';
export const cellNamesStream = 'svclog-cells';

const pattern = '^(?!\\$|cell-|canary-|secretkey-|svclog-)';
const ours = new RegExp(pattern, 'u');

/** P11: what never comes out of the log. */
export const isOurs = (stream: string): boolean => ours.test(stream);

/** The same for the server. */
export const oursOnly: ServerFilter = { on: 'streamName', regex: pattern };

export const cellStream = (key: string): string => `cell-${key}`;
