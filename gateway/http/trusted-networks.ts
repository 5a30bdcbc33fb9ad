/** Networks whose word about others is taken: proxies that stand in front of a listener. */
import { BlockList, isIP } from 'node:net';

/** Whether an address is in one of them. */
export type Trusts = (address: string) => boolean;

/** Entries are addresses or networks in CIDR form. Throws on one that is neither. */
export function trustedNetworks(entries: readonly string[]): Trusts {
  if (entries.length === 0) return () => false;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    if (isIP(address) === 0) throw new Error(`trusted_proxies: "${entry}" is neither an address nor a network`);
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) => isIP(address) > 0 && list.check(address, familyOf(address));
}

/** An IPv4 address that came in its IPv6 form is written as IPv4. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;

/** Each proxy adds whom it was asked by: the last one that is no proxy of ours is the client. Before it anybody may have written. */
export function clientIn(forwardedFor: string, trusts: Trusts): string | undefined {
  const chain = forwardedFor
    .split(',')
    .map((hop) => addressOf(hop.trim()))
    .filter((address) => address !== '');
  const client = chain.findLast((address) => !trusts(address)) ?? chain[0];
  return client !== undefined && isIP(client) > 0 ? client : undefined;
}

/** Some proxies write the port as well. */
const addressOf = (hop: string): string =>
  plainAddress(/^\[(?<v6>[^\]]+)\]/.exec(hop)?.groups?.['v6'] ?? hop.replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1'));

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
