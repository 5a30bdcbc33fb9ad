/** The certificate with which the management API listens, read and tried at the start. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ConfigurationError } from '../config/errors.ts';
import type { Settings } from '../config/settings.ts';
import { isLoopback, type ServerCertificate } from '../management/socket.ts';
import type { ProcessLog } from '../telemetry/log.ts';
import { addressText } from './addresses.ts';

/** Throws `ConfigurationError` when a file is missing or the two do not fit. Without TLS beyond this machine every start warns. */
export function certificateOf(
  { listen, tls: { certFile, keyFile } }: Settings['management'],
  log: Pick<ProcessLog, 'warn'>,
): ServerCertificate | undefined {
  if (certFile === undefined && keyFile === undefined) {
    if (!isLoopback(addressText(listen))) {
      log.warn(
        'the management API listens beyond this machine without TLS: tokens travel in clear; set management.tls',
      );
    }
    return undefined;
  }
  if (certFile === undefined || keyFile === undefined) {
    const missing = certFile === undefined ? 'cert_file' : 'key_file';
    throw new ConfigurationError([`management.tls.${missing}: is missing; certificate and key go together`]);
  }
  const certificate = { cert: read('cert_file', certFile), key: read('key_file', keyFile) };
  try {
    createSecureContext(certificate);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError([`management.tls: ${certFile} and ${keyFile} cannot be used: ${reason}`]);
  }
  return certificate;
}

function read(key: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new ConfigurationError([`management.tls.${key}: ${path} cannot be read (${code})`]);
  }
}
