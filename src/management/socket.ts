/** The socket of the management plane: HTTP or HTTPS on one address, and an end that lets running requests finish. */
import type { RequestListener, Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer } from '../../gateway/http/node-http.ts';

/** PEM texts. */
export type ServerCertificate = { readonly cert: string; readonly key: string };

export type Socket = {
  /** Resolves with the address as a URL without path. */
  listen(): Promise<string>;
  /** Answers what is running, then closes. */
  stop(): Promise<void>;
};

/** `address`: `host:port`; port 0 takes a free one. Throws when the certificate does not parse or fit its key. */
export function serveAt(address: string, certificate: ServerCertificate | undefined, handle: RequestListener): Socket {
  const server = certificate
    ? createSecureServer({ ...certificate, minVersion: 'TLSv1.2' }, handle)
    : createServer(handle);
  return {
    listen: async () => `${certificate ? 'https' : 'http'}://${await listen(server, address)}`,
    stop: () => stop(server),
  };
}

export const isLoopback = (address: string): boolean => /^(?:127(?:\.\d+){3}|localhost|\[?::1\]?):\d+$/.test(address);

function listen(server: Server, address: string): Promise<string> {
  const { host = '', port = '0' } = /^\[?(?<host>.*?)\]?:(?<port>\d+)$/.exec(address)?.groups ?? {};
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: host === '' ? '0.0.0.0' : host, port: Number(port) }, () => {
      server.off('error', reject);
      const bound = server.address() as AddressInfo;
      const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
      resolve(`${name}:${bound.port}`);
    });
  });
}

/** Connections that are still busy after this are cut. */
const stopGraceMs = 5_000;

function stop(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), stopGraceMs);
    // A connection is idle only after its last answer.
    const sweep = setInterval(() => server.closeIdleConnections(), 20);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
