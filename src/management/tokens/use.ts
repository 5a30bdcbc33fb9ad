/** When a token was used last and from which network: a cell that all management nodes share, written at most once a minute. */
import { isIPv4, isIPv6 } from 'node:net';
import type { TokenId } from '../../../domain/ids.ts';
import { CellConflict, type SharedCells } from '../../../domain/shared-cells.ts';
import type { Log } from '../../../gateway/ports.ts';

/** `from`: a network, never an address. */
export type LastUse = { readonly at: string; readonly from: string };

export type TokenUse = {
  /** Returns at once; what fails is logged and tried again with a later use. */
  note(tokenId: TokenId, address: string): void;
  lastUses(): Promise<ReadonlyMap<string, LastUse>>;
  lastUse(tokenId: TokenId): Promise<LastUse | undefined>;
  /** Resolves when everything noted so far is written. */
  written(): Promise<void>;
};

export type TokenUseOptions = { readonly cells: SharedCells; readonly now: () => Date; readonly log: Log };

const prefix = 'token/';
const spacingMs = 60_000;

export function createTokenUse({ cells, now, log }: TokenUseOptions): TokenUse {
  /** ms since 1970 of the last note, per token. */
  const notedAt = new Map<TokenId, number>();
  const writing = new Set<Promise<void>>();

  const record = async (tokenId: TokenId, use: LastUse): Promise<void> => {
    try {
      const cell = await cells.read(`${prefix}${tokenId}`);
      const before = cell && (JSON.parse(cell.value) as LastUse);
      if (before && Date.parse(use.at) - Date.parse(before.at) < spacingMs) return;
      await cells.write(`${prefix}${tokenId}`, JSON.stringify(use), cell?.version ?? 'none');
    } catch (error) {
      // Another node has noted it at the same time.
      if (error instanceof CellConflict) return;
      notedAt.delete(tokenId);
      log.warn('management: last use of a token is not recorded', { tokenId, reason: String(error) });
    }
  };

  return {
    note: (tokenId, address) => {
      const at = now();
      if (at.getTime() - (notedAt.get(tokenId) ?? Number.NEGATIVE_INFINITY) < spacingMs) return;
      notedAt.set(tokenId, at.getTime());
      const done = record(tokenId, { at: at.toISOString(), from: networkOf(address) });
      writing.add(done);
      void done.then(() => writing.delete(done));
    },
    lastUses: async () => {
      const found = await cells.list(prefix);
      return new Map(found.map(({ key, value }) => [key.slice(prefix.length), JSON.parse(value) as LastUse]));
    },
    lastUse: async (tokenId) => {
      const cell = await cells.read(`${prefix}${tokenId}`);
      return cell && (JSON.parse(cell.value) as LastUse);
    },
    written: async () => {
      await Promise.all(writing);
    },
  };
}

/** `192.0.2.0/24`, `2001:db8:1::/48`; empty for what is no address. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (isIPv4(plain)) return `${plain.split('.').slice(0, 3).join('.')}.0/24`;
  if (!isIPv6(plain)) return '';
  const [head = '', tail] = plain.toLowerCase().split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, 3).map((group) => group.replace(/^0+(?=.)/, ''));
  // The URL parser knows the one short form of an address.
  return `${new URL(`http://[${groups.join(':')}::]/`).hostname.slice(1, -1)}/48`;
}
