/** The heads of requests that gateways have recorded, as far as a change of the configuration can be tried on them; the port to them. */
import type { OrgId } from './ids.ts';

/** Headers are not recorded. */
export type RecordedHead = {
  readonly method: string;
  /** As the client sent it, with a mask in the place of every key. */
  readonly target: string;
  /** `Host` as sent. */
  readonly host: string;
  readonly clientAddress: string;
  /** SHA-256 hex of the credential, whether anybody has it or not; empty when none was looked for or found. */
  readonly keyId: string;
  /** The name of the version that served it, or `notVersioned`. */
  readonly version: string;
  /** Of its body: as it was declared, else as much as was read. */
  readonly bodyBytes: number;
};

export type HeadsQuery = {
  readonly orgId: OrgId;
  readonly apiId: string;
  /** APIs whose requests count where they came by the name of a version: they are versions of this one. */
  readonly versionIds: readonly string[];
  /** Ms since 1970. */
  readonly sinceMs: number;
  readonly limit: number;
};

export interface RecordedHeads {
  /** The newest first, as many as are found in the time and the memory that the adapter allows. Rejects when nothing can be read, and when the signal aborts. */
  newest(query: HeadsQuery, signal: AbortSignal): Promise<readonly RecordedHead[]>;
}
