/** Base32 (RFC 4648) of texts. */

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function toBase32(text: string): string {
  let [result, held, bits] = ['', 0, 0];
  for (const byte of new TextEncoder().encode(text)) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) result += alphabet[(held >> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  if (bits > 0) result += alphabet[(held << (5 - bits)) & 31];
  return result.padEnd(Math.ceil(result.length / 8) * 8, '=');
}

/** Undefined for what is no base32. */
export function fromBase32(text: string): string | undefined {
  if (!/^[A-Z2-7]*={0,6}$/.test(text) || text.length % 8 !== 0) return undefined;
  const bytes: number[] = [];
  let [held, bits] = [0, 0];
  for (const char of text.replace(/=+$/, '')) {
    held = (held << 5) | alphabet.indexOf(char);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push(held >> bits);
    held &= (1 << bits) - 1;
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
