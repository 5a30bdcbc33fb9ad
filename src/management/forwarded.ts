/** Who is behind the proxy in front of the management API: the address, and the person that the proxy has signed in. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { plainAddress, type Trusts } from '../../gateway/http/trusted-networks.ts';

export type Behind = {
  /** Of the client; '' when the connection is gone. */
  readonly address: string;
  /** What the proxy calls the person. Recorded, and grants nothing. */
  readonly person?: string;
};

export type ForwardingOptions = {
  readonly trusts: Trusts;
  /** Of the request, where a trusted proxy names the person. */
  readonly actorHeader?: string | undefined;
};

const maxPersonLength = 256;

/** What anybody else says of himself in these headers is not looked at. */
export function createForwarding({ trusts, actorHeader }: ForwardingOptions) {
  return function behind({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): Behind {
    const peer = plainAddress(socket.remoteAddress ?? '');
    if (!trusts(peer)) return { address: peer };
    const address = clientIn(headers['x-forwarded-for'], trusts) ?? peer;
    const person = actorHeader === undefined ? undefined : personIn(headers[actorHeader.toLowerCase()]);
    return { address, ...(person === undefined ? {} : { person }) };
  };
}

/** Each proxy adds whom it was asked by: the last one that is no proxy of ours is the client. */
function clientIn(header: string | readonly string[] | undefined, trusts: Trusts): string | undefined {
  const chain = (typeof header === 'string' ? header : (header ?? []).join(','))
    .split(',')
    .map((hop) => addressOf(hop.trim()))
    .filter((address) => address !== '');
  const client = chain.findLast((address) => !trusts(address)) ?? chain[0];
  return client !== undefined && isIP(client) > 0 ? client : undefined;
}

/** Some proxies write the port as well. */
const addressOf = (hop: string): string =>
  plainAddress(/^\[(?<v6>[^\]]+)\]/.exec(hop)?.groups?.['v6'] ?? hop.replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1'));

/** Several of them contradict each other. */
function personIn(value: string | readonly string[] | undefined): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === ''
    ? undefined
    : Buffer.from(text, 'latin1').toString('utf8').slice(0, maxPersonLength).toWellFormed();
}
