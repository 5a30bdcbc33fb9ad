/** What is known of a client connection: its address, whether it is a trusted proxy, and how far its bytes were counted. */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { plainAddress, type Trusts, trustedNetworks } from './trusted-networks.ts';

/** `Host` as sent, in the form in which hosts are compared (undefined when it is none), and the port that it asks for. */
export type Host = { readonly sent: string; readonly name: string | undefined; readonly port: string };

const noHost: Host = { sent: '', name: undefined, port: '' };

export type Connection = {
  readonly address: string;
  readonly isTrusted: boolean;
  /** Of the addresses that a trusted one names. */
  readonly trusts: Trusts;
  readonly isTls: boolean;
  /** The host of its last request, taken apart; most connections ask for one only. */
  host: Host;
  /** Its framing was in doubt once: what comes after that is not looked at. */
  isDoomed: boolean;
  /** Bytes that earlier requests of the connection account for. */
  countedIn: number;
  countedOut: number;
};

/** Reads each connection once; entries go with their sockets. */
export function createConnections(trustedProxies: readonly string[]): (socket: Socket) => Connection {
  const trusts = trustedNetworks(trustedProxies);
  const known = new WeakMap<Socket, Connection>();
  return function connectionOf(socket) {
    const found = known.get(socket);
    if (found) return found;
    const address = plainAddress(socket.remoteAddress ?? '');
    const connection = {
      address,
      isTrusted: trusts(address),
      trusts,
      isTls: (socket as Partial<TLSSocket>).encrypted === true,
      host: noHost,
      isDoomed: false,
      countedIn: 0,
      countedOut: 0,
    };
    known.set(socket, connection);
    return connection;
  };
}
