/** Which members of which event types are secret. The codec refuses to write one of them in clear. */

/** Paths from the event, by type. */
export const sealedFields: Readonly<Record<string, readonly string[]>> = {
  CertificateImported: ['secret'],
  CertificateKeyAttached: ['secret'],
};
