/** Copies wrapped keys when a log moves to an engine whose key ring stands elsewhere; no secret is opened for that. */
import type { KeyTable } from '../stores/secrets/keyring.ts';
import { openPostgresKeyTable } from '../stores/secrets/postgres-keyring.ts';
import { openKeyTable } from '../stores/secrets/sqlite-keyring.ts';
import { isRingShared } from './key-ring.ts';

const isShared = (url: string): boolean => isRingShared({ store: { url } });

/** How many keys were new in the target; undefined when both logs use the ring in the data folder. */
export async function copyRing(from: string, to: string, file: string): Promise<number | undefined> {
  if (!isShared(from) && !isShared(to)) return undefined;
  const open = async (url: string): Promise<KeyTable> =>
    isShared(url) ? openPostgresKeyTable(url) : openKeyTable({ path: file });
  const source = await open(from);
  try {
    const target = await open(to);
    try {
      return await copyKeys(source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

const pageKeys = 500;

async function copyKeys(source: KeyTable, target: KeyTable): Promise<number> {
  const current = await source.current();
  // A ring that was never used holds nothing.
  if (current === undefined) return 0;
  const before = await target.current();
  if (before === undefined) await target.advance(undefined, current);
  let copied = 0;
  for (let after = ''; ; ) {
    const page = await source.page(after, pageKeys);
    for (const { kid } of page) {
      const key = await source.get(kid);
      const outcome = key && (await target.add(key));
      if (outcome === 'stale') {
        throw new Error(
          'the key ring holds keys of several master keys: run svc store secrets rotate on the source before, so that one wraps all of them',
        );
      }
      if (outcome === 'added') copied += 1;
    }
    const last = page.at(-1);
    if (!last) return copied;
    after = last.kid;
  }
}
