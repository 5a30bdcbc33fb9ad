/** Lets requests in by the address of their client: lists of those that may call, and of those that may not (api-definition design 8.1). */
import type { IpAccess } from '../../domain/api/definition.ts';
import { type IpRange, ipRange } from '../../domain/api/ip-range.ts';
import type { Step } from '../http/context.ts';

export function ipAccess({ allow, block }: IpAccess): Step {
  const [allowed, blocked] = [rangesOf(allow), rangesOf(block)];
  return function ipAccess(context) {
    // Without the interface that a link-local address came over.
    const client = plainRange(context.head.clientAddress.replace(/%.*$/, ''));
    const isIn = client && (allow.length === 0 || isOneOf(allowed, client)) && !isOneOf(blocked, client);
    return isIn ? undefined : context.refuse('ip_forbidden');
  };
}

const rangesOf = (list: readonly string[]): readonly IpRange[] => list.flatMap((text) => plainRange(text) ?? []);

/** IPv4 in its IPv6 form is IPv4. */
function plainRange(text: string): IpRange | undefined {
  const range = ipRange(text);
  const isMapped = range?.family === 6 && range.prefix >= 96 && range.bits >> 32n === 0xffffn;
  return isMapped ? { family: 4, bits: range.bits & 0xffff_ffffn, prefix: range.prefix - 96 } : range;
}

const isOneOf = (ranges: readonly IpRange[], { family, bits }: IpRange): boolean =>
  ranges.some((range) => {
    const rest = BigInt((family === 4 ? 32 : 128) - range.prefix);
    return range.family === family && range.bits >> rest === bits >> rest;
  });
