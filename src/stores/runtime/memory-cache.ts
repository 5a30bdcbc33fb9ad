/** Answers of upstreams in the memory of one process, bounded in bytes; the one that was not used for longest goes first. */
import type { KeptEntry, ResponseCache } from '../../../gateway/ports.ts';

export type MemoryCacheOptions = {
  readonly maxBytes: number;
  /** Ms, never goes back. */
  readonly monotonic: () => number;
};

type Slot = {
  readonly entry: KeptEntry;
  readonly apiId: string;
  readonly endsMs: number;
  readonly bytes: number;
};

/** What an entry costs beside its texts and its body. */
const slotBytes = 512;
/** What a text costs beside its letters. */
const textBytes = 32;

export function memoryCache({ maxBytes, monotonic }: MemoryCacheOptions): ResponseCache {
  // A map keeps the order in which its keys came: the first one was not used for longest.
  const slots = new Map<string, Slot>();
  let bytes = 0;
  let evicted = 0;

  function drop(key: string, slot: Slot): void {
    slots.delete(key);
    bytes -= slot.bytes;
  }

  function makeRoom(nowMs: number): void {
    for (const [key, slot] of slots) {
      if (bytes <= maxBytes) return;
      drop(key, slot);
      if (slot.endsMs > nowMs) evicted++;
    }
  }

  return {
    get(key) {
      const slot = slots.get(key);
      if (slot === undefined) return undefined;
      if (slot.endsMs <= monotonic()) {
        drop(key, slot);
        return undefined;
      }
      slots.delete(key);
      slots.set(key, slot);
      return slot.entry;
    },
    put(key, entry, { apiId, lifetimeMs }) {
      const before = slots.get(key);
      if (before) drop(key, before);
      const nowMs = monotonic();
      const slot = { entry, apiId, endsMs: nowMs + lifetimeMs, bytes: sizeOf(key, entry) };
      if (slot.bytes > maxBytes || lifetimeMs <= 0) return;
      slots.set(key, slot);
      bytes += slot.bytes;
      makeRoom(nowMs);
    },
    flush(apiId) {
      const own = [...slots].filter(([, slot]) => slot.apiId === apiId);
      for (const [key, slot] of own) drop(key, slot);
      return own.length;
    },
    standing: () => ({ entries: slots.size, bytes, evicted }),
  };
}

function sizeOf(key: string, entry: KeptEntry): number {
  const texts = entry.kind === 'answer' ? entry.headers : entry.names;
  const body = entry.kind === 'answer' ? entry.body.byteLength : 0;
  return texts.reduce((sum, { length }) => sum + textBytes + length, slotBytes + key.length + body);
}
