/** Reads addresses and CIDR ranges, IPv4 and IPv6, from text: for lists of those that may and may not call. */

export type IpRange = { readonly bits: bigint; readonly family: 4 | 6; readonly prefix: number };

/** `10.0.0.0/8`, `::1`; undefined when the text is neither an address nor a range. */
export function ipRange(text: string): IpRange | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const found = ipv4Bits(address) ?? ipv6Bits(address);
  if (!found || rest.length > 0) return undefined;
  const most = found.family === 4 ? 32 : 128;
  if (prefix === undefined) return { ...found, prefix: most };
  if (!/^(?:0|[1-9]\d{0,2})$/.test(prefix) || Number(prefix) > most) return undefined;
  return { ...found, prefix: Number(prefix) };
}

/** Leading zeros are refused: some read them as octal. */
function ipv4Bits(text: string): Omit<IpRange, 'prefix'> | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) {
    return undefined;
  }
  return { family: 4, bits: parts.reduce((bits, part) => (bits << 8n) | BigInt(part), 0n) };
}

function ipv6Bits(text: string): Omit<IpRange, 'prefix'> | undefined {
  const [head = '', tail, ...rest] = text.split('::');
  if (!text.includes(':') || rest.length > 0) return undefined;
  const [before, after] = [groupsOf(head, tail === undefined), groupsOf(tail ?? '', true)];
  if (!before || !after) return undefined;
  const missing = 8 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...before, ...Array.from({ length: missing }, () => 0), ...after];
  return { family: 6, bits: groups.reduce((bits, group) => (bits << 16n) | BigInt(group), 0n) };
}

/** The last group may be an IPv4 address. */
function groupsOf(text: string, isLast: boolean): readonly number[] | undefined {
  if (text === '') return [];
  const groups = text.split(':');
  const mapped = isLast ? ipv4Bits(groups.at(-1) ?? '') : undefined;
  const plain = mapped ? groups.slice(0, -1) : groups;
  if (!plain.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const low = mapped ? [Number(mapped.bits >> 16n), Number(mapped.bits & 0xffffn)] : [];
  return [...plain.map((group) => Number.parseInt(group, 16)), ...low];
}
