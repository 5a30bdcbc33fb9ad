/** Addresses and ranges as they may be written, and near misses. */
import { expect } from 'chai';
import { ipRange } from '../../../../domain/api/ip-range.ts';

describe('an address or a range', () => {
  const read: readonly (readonly [string, 4 | 6, bigint, number])[] = [
    ['0.0.0.0/0', 4, 0n, 0],
    ['10.1.2.3', 4, 0x0a010203n, 32],
    ['192.168.0.0/16', 4, 0xc0a80000n, 16],
    ['::', 6, 0n, 128],
    ['::1', 6, 1n, 128],
    ['2001:db8::/32', 6, 0x20010db8n << 96n, 32],
    ['1:2:3:4:5:6:7:8', 6, 0x00010002000300040005000600070008n, 128],
    ['::ffff:10.1.2.3/120', 6, 0xffff0a010203n, 120],
    ['1::8', 6, (1n << 112n) | 8n, 128],
  ];
  for (const [text, family, bits, prefix] of read) {
    it(text, () => expect(ipRange(text)).to.deep.equal({ family, bits, prefix }));
  }

  const refused = [
    ...['', 'a', '1.2.3', '1.2.3.4.5', '1.2.3.256', '01.2.3.4', '1.2.3.4/33', '1.2.3.4/', '1.2.3.4/01', '1.2.3.4/8/8'],
    ...[':', ':::', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7::8', '12345::', 'g::', '::1/129'],
    ...['::1.2.3.4:5', ' ::1', '::1%eth0', '-1.2.3.4', '1.2.3.4 '],
  ];
  for (const text of refused) it(`is not ${JSON.stringify(text)}`, () => expect(ipRange(text)).to.equal(undefined));
});
