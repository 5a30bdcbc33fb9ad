/** Who is behind the connection: only proxies that are trusted may say so. */
import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { trustedNetworks } from '../../../../gateway/http/trusted-networks.ts';
import { createForwarding } from '../../../../src/management/forwarded.ts';

const behind = createForwarding({ trusts: trustedNetworks(['10.0.0.0/8', 'fd00::/8']), actorHeader: 'X-Person' });
const from = (remoteAddress: string | undefined, headers: IncomingMessage['headers'] = {}) =>
  behind({ headers, socket: { remoteAddress } as IncomingMessage['socket'] });

describe('the client of the management API', () => {
  const rows: readonly [name: string, peer: string | undefined, chain: string | undefined, address: string][] = [
    ['is the other end', '192.0.2.7', undefined, '192.0.2.7'],
    ['is written as IPv4 where it is', '::ffff:192.0.2.7', undefined, '192.0.2.7'],
    ['is not whom a stranger names', '192.0.2.7', '198.51.100.1', '192.0.2.7'],
    ['is whom a proxy names', '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    [
      'is the last that is no proxy: what stands before it anybody may have written',
      '10.1.2.3',
      '1.1.1.1, 198.51.100.1, 10.9.9.9',
      '198.51.100.1',
    ],
    ['is the first where all are proxies', '10.1.2.3', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
    ['may have a port', '10.1.2.3', '198.51.100.1:4711', '198.51.100.1'],
    ['may be IPv6 with a port', 'fd00::1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['is the proxy where it names nothing that is an address', '10.1.2.3', 'unknown', '10.1.2.3'],
    ['is the proxy where it names nobody', '10.1.2.3', undefined, '10.1.2.3'],
    ['has no address once it has left', undefined, undefined, ''],
  ];
  for (const [name, peer, chain, address] of rows) {
    it(name, () =>
      expect(from(peer, chain === undefined ? {} : { 'x-forwarded-for': chain }).address).to.equal(address),
    );
  }

  it('has the name that a proxy gives it, and none that it gives itself', () => {
    expect(from('10.1.2.3', { 'x-person': ' jo ' }).person).to.equal('jo');
    expect(from('192.0.2.7', { 'x-person': 'jo' })).to.deep.equal({ address: '192.0.2.7' });
    expect(from('10.1.2.3', { 'x-person': '' })).to.deep.equal({ address: '10.1.2.3' });
  });

  it('has a name of Unicode, not longer than 256', () => {
    const sent = Buffer.from('Jürgen', 'utf8').toString('latin1');
    expect(from('10.1.2.3', { 'x-person': sent }).person).to.equal('Jürgen');
    expect(from('10.1.2.3', { 'x-person': 'x'.repeat(1_000) }).person).to.have.length(256);
  });

  it('is not judged by what is no network', () => {
    expect(() => trustedNetworks(['proxy.example'])).to.throw('proxy.example');
  });
});
