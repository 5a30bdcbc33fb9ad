/** What an API uses a certificate for. */
import type { ApiId } from './ids.ts';

/** To know clients by it, to show it to an upstream, to serve a domain with it, to know an upstream by it. */
export type CertificateRole = 'client' | 'upstream' | 'server' | 'pin';

/** What a remark on the end of a certificate is about; nothing when no API uses the certificate. */
export type CertificateUse = { readonly role?: CertificateRole; readonly apiId?: ApiId };
