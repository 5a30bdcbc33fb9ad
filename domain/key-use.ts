/** That an access key was used, as gateways tell it to management and management shows it; nothing of what was asked for. */
export type KeyUse = {
  /** Hash of the key. */
  readonly key: string;
  /** Of its last request. RFC 3339. */
  readonly at: string;
  /** Of the key's own quota on that gateway; absent: it has none. */
  readonly remaining?: number;
  /** Unix seconds at which its window ends; absent: it never does, or none is open. */
  readonly renews?: number;
};
