/** Who is behind the proxy in front of the management API: the address, and the person that the proxy has signed in. */
import type { IncomingMessage } from 'node:http';
import { clientIn, plainAddress, type Trusts } from '../../gateway/http/trusted-networks.ts';

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
    const address = clientIn([headers['x-forwarded-for'] ?? []].flat().join(','), trusts) ?? peer;
    const person = actorHeader === undefined ? undefined : personIn(headers[actorHeader.toLowerCase()]);
    return { address, ...(person === undefined ? {} : { person }) };
  };
}

/** Several of them contradict each other. */
function personIn(value: string | readonly string[] | undefined): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === ''
    ? undefined
    : Buffer.from(text, 'latin1').toString('utf8').slice(0, maxPersonLength).toWellFormed();
}
