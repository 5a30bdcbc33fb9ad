/** What is known of a client connection: its address, whether it is a trusted proxy, and how far its bytes were counted. */
import { BlockList, isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** `Host` as sent, in the form in which hosts are compared (undefined when it is none), and the port that it asks for. */
export type Host = { readonly sent: string; readonly name: string | undefined; readonly port: string };

const noHost: Host = { sent: '', name: undefined, port: '' };

export type Connection = {
  readonly address: string;
  readonly isTrusted: boolean;
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
  const trusted = blockListOf(trustedProxies);
  const known = new WeakMap<Socket, Connection>();
  return function connectionOf(socket) {
    const found = known.get(socket);
    if (found) return found;
    const address = plainAddress(socket.remoteAddress ?? '');
    const connection = {
      address,
      isTrusted: trusted !== undefined && isIP(address) > 0 && trusted.check(address, familyOf(address)),
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

/** An IPv4 address that came in its IPv6 form is written as IPv4. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Throws on an entry that is neither an address nor a network. */
function blockListOf(entries: readonly string[]): BlockList | undefined {
  if (entries.length === 0) return undefined;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    if (isIP(address) === 0) throw new Error(`trusted_proxies: "${entry}" is neither an address nor a network`);
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}
