/** Access keys at size: how long a change of one key holds a gateway that has 100,000 of them beside 5,000 APIs, and what it costs to find one. */

import { createHash } from 'node:crypto';
import { canonicalHead } from '../../domain/api/classic/codec.ts';
import { toOrgId } from '../../domain/ids.ts';
import { Sessions } from '../../gateway/access/sessions.ts';
import { createCheckApi } from '../../gateway/check-api.ts';
import type { Feed, FeedAnswer } from '../../gateway/feed/feed.ts';
import { hold } from '../../gateway/feed/held.ts';
import { startGateway } from '../../gateway/gateway.ts';
import type { GatewayObject, GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import { memoryCache } from '../../src/stores/runtime/memory-cache.ts';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { keyId, positionText } from '../support/gateway-feed.ts';
import { ListLane } from '../support/gateway-lane.ts';
import { apiFor, listLog, systemClock } from '../support/gateway-start.ts';
import { temporaryFolder } from '../support/temporary.ts';

const [apis, keys, changes, lookUps] = [5_000, 100_000, 40, 200_000];
const orgId = toOrgId('acme');
const keyText = (index: number): string => `the-key-of-caller-${index}`;

function keyObject(index: number, position: number): GatewayObject {
  const document = { alias: `caller ${index}`, apply_policies: ['gold'] };
  const body = { orgId, createdAt: '2026-01-01T00:00:00.000Z', document };
  const id = keyId(keyText(index));
  return { kind: 'key', id, revision: String(position), position: positionText(position), sha256: id, body };
}

function filled(): GatewaySnapshot {
  const position = positionText(1);
  const all: GatewayObject[] = [
    { kind: 'policy', id: 'gold', revision: '0', position, sha256: 'gold', body: { orgId, document: policy } },
  ];
  for (let i = 0; i < apis; i++) {
    const document = apiFor(`api-${i}`, 'http://127.0.0.1:9/');
    const sha256 = createHash('sha256').update(JSON.stringify(document)).digest('hex');
    const body = { orgId, apiKind: 'oas', document } as const;
    all.push({ kind: 'api', id: `api-${i}`, revision: '0', position, sha256, body });
  }
  for (let i = 0; i < keys; i++) all.push(keyObject(i, 1));
  const objects = Object.fromEntries(all.map((object) => [`${object.kind}:${object.id}`, object]));
  return { format: 2, logId: 'bench', era: 1, position, revision: position, objects };
}

const policy = { access_rights: { 'api-1': { allowed_urls: [{ url: '/orders/{id}', methods: ['GET'] }] } } };

export async function run() {
  const first = filled();
  return [
    { name: `a change of a key, ${keys} keys, ${apis} APIs`, figures: await changed(first) },
    { name: `finding one of ${keys} keys`, figures: found(first) },
  ];
}

/** From the feed's answer to the swap, which nothing interrupts. */
async function changed(first: GatewaySnapshot) {
  let give: (answer: FeedAnswer) => void = () => {};
  const feed: Feed = {
    snapshot: async () => first,
    report: async () => {},
    changes: (_, signal) =>
      new Promise((resolve, reject) => {
        give = resolve;
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  using folder = temporaryFolder();
  const gateway = await startGateway({
    ...{ feed, log: listLog(), lane: new ListLane(), clock: systemClock, node: 'bench', directory: folder.path },
    headOf: canonicalHead,
    checkApi: createCheckApi(),
    counters: memoryCounters(systemClock),
    cache: memoryCache({ maxBytes: 1_048_576, ...systemClock }),
    listen: { host: '127.0.0.1', port: 0 },
    controlListen: { host: '127.0.0.1', port: 0 },
    settings: { swapEveryMs: 0 },
  });
  try {
    await gateway.waitForRevision(first.position, AbortSignal.timeout(120_000));
    const ms: number[] = [];
    for (let change = 0; change < changes; change++) {
      // The disk is written beside the requests; it is not what is measured here.
      await new Promise((resolve) => setTimeout(resolve, 100));
      const object = keyObject(change, change + 2);
      const sent = performance.now();
      give({ changes: [{ op: 'upsert', position: object.position, object }], next: object.position });
      await gateway.waitForRevision(object.position, AbortSignal.timeout(30_000));
      ms.push(performance.now() - sent);
    }
    const sorted = ms.toSorted((a, b) => a - b);
    return { 'p50 ms': sorted[sorted.length >> 1] ?? 0, 'max ms': sorted.at(-1) ?? 0 };
  } finally {
    await gateway.stop(0);
  }
}

function found(first: GatewaySnapshot) {
  const sessions = new Sessions(listLog());
  sessions.swap(hold(first));
  const pass = (count: number, text: (index: number) => string): number => {
    const began = performance.now();
    for (let i = 0; i < count; i++) sessions.find(text(i), orgId);
    return ((performance.now() - began) * 1_000) / count;
  };
  return {
    'first use µs': pass(10_000, keyText),
    'known µs': pass(lookUps, (index) => keyText(index % 10_000)),
    'unknown µs': pass(lookUps, (index) => `nobody-${index}`),
  };
}
