/** A log with anchors, and its export, for tests of the audit trail. */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { expect } from 'chai';
import type { AnchorEvent } from '../../domain/anchor.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { anchorStream, toOrgId } from '../../domain/ids.ts';
import type { SharedCells } from '../../domain/shared-cells.ts';
import { memoryCells } from '../../src/stores/events/memory-cells.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { keyIdOf, type Signer } from '../../src/stores/integrity/anchor.ts';
import { type AnchorerOptions, startAnchorer } from '../../src/stores/integrity/anchorer.ts';
import { chainedEventStore } from '../../src/stores/integrity/chained-event-store.ts';
import { type ExportRange, exportAudit } from '../../src/stores/integrity/export-audit.ts';
import { type ExportProblem, type VerifyOptions, verifyExport } from '../../src/stores/integrity/verify-export.ts';
import { append, bytes, event, write } from './event-store-events.ts';

export function newSigner(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const pem = String(publicKey.export({ type: 'spki', format: 'pem' }));
  return {
    keyId: keyIdOf(pem),
    publicKey: pem,
    sign: (data) => sign(null, data, privateKey).toString('base64url'),
  };
}

export type Log = { readonly store: EventStore; readonly cells: SharedCells; readonly clock: { nowMs: number } };

export function newLog(): Log {
  const clock = { nowMs: 1_000 };
  return { store: chainedEventStore(new MemoryEventStore({ now: () => clock.nowMs })), cells: memoryCells(), clock };
}

/** A stream of its own for every third event, operational events in between. */
export async function happen({ store }: Pick<Log, 'store'>, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const stream = `api-${index % 3}`;
    const [last] = await store.readStream(stream, { back: true, limit: 1 });
    await append(store, [write(stream, last?.revision ?? 'noStream', event({ data: bytes(`{"n":${index}}`) }))]);
    if (index % 4 === 0) await append(store, [write('gwnode-a', 'any', event())]);
  }
}

export async function withAnchorer<T>(
  log: Log,
  options: Partial<AnchorerOptions>,
  work: (look: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const errors: unknown[] = [];
  const anchorer = startAnchorer({
    ...log,
    ...{ orgId: toOrgId('acme'), signer: signerOfAll, owner: randomUUID(), everyMs: 3_600_000 },
    log: { error: (_, fields) => errors.push(fields) },
    now: () => log.clock.nowMs,
    maxEvents: 5,
    ...options,
  });
  try {
    return await work(() => anchorer.look());
  } finally {
    await anchorer.stop();
    expect(errors).to.deep.equal([]);
  }
}

export const signerOfAll = newSigner();

export async function anchorsOf({ store }: Log): Promise<readonly AnchorEvent[]> {
  const stored = await store.readStream(anchorStream, { limit: 1_000 });
  return stored.map(({ data }) => JSON.parse(new TextDecoder().decode(data)) as AnchorEvent);
}

export async function exported({ store }: Log, range: ExportRange = {}): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of exportAudit(store, signerOfAll, range)) lines.push(line.slice(0, -1));
  return lines;
}

export const problemOf = async (
  lines: readonly string[],
  options: VerifyOptions = {},
): Promise<ExportProblem | undefined> => (await verifyExport(lines, options)).problem;

/** 23 events, operational ones between them, anchors of five events each. */
export async function anchoredLog(): Promise<Log> {
  const log = newLog();
  await happen(log, 23);
  await withAnchorer(log, {}, (look) => look());
  return log;
}
