/** A configuration to start from that somebody exported: read from a file or fetched, and believed only when it is signed. */
import { readFile } from 'node:fs/promises';
import type { SignedSnapshot } from './signed.ts';
import type { Trust } from './trust.ts';

const timeoutMs = 10_000;

/** Rejects when it cannot be read, is no snapshot, or is signed by somebody else. */
export async function seedFrom(place: string, trust: Trust): Promise<SignedSnapshot> {
  const text = /^https?:\/\//.test(place) ? await fetched(place) : await readFile(place, 'utf8');
  return trust.checkSnapshot(JSON.parse(text));
}

async function fetched(url: string): Promise<string> {
  const { request } = await import('undici');
  const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(timeoutMs) });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`the address answered ${statusCode}`);
  return text;
}
