/** What proves the audit to somebody else: the export that verifies offline, and the anchors with the keys that signed them. */
import type { AnchorEvent } from '../../../domain/anchor.ts';
import type { Json } from '../../../domain/event.ts';
import { type Position, shortPosition } from '../../../domain/event-store.ts';
import { decodeEvent } from '../../../domain/events.ts';
import { anchorStream } from '../../../domain/ids.ts';
import { type Call, numberParameter } from '../call.ts';
import * as parameter from '../parameters.ts';
import { resolveAt } from '../past/time-travel.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function exportTrail({ query }: Call, { store, exportAudit, now }: Services): Promise<Reply> {
  const place = async (name: string): Promise<Position | undefined> => {
    const text = query.get(name);
    return text === null ? undefined : resolveAt(store, text, now().getTime());
  };
  const from = await place('after');
  const to = await place('to');
  return {
    status: 200,
    headers: { 'Content-Disposition': 'attachment; filename="svc-audit.ndjson"' },
    type: 'application/x-ndjson',
    stream: exportAudit({ ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }),
  };
}

async function listAnchors(call: Call, { store }: Services): Promise<Reply> {
  const limit = numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 });
  const stored = await store.readStream(anchorStream, { back: true, limit });
  const anchors = stored.map((one): Json => {
    const { position, at, revision, event } = decodeEvent(one);
    const { from, to, publicKey, signature, ...rest } = event as AnchorEvent;
    const { logId, era, count, merkleRoot, prevAnchorHash, keyId } = rest;
    return {
      ...{ revision: Number(revision), position: shortPosition(position), at: at.toISOString(), logId, era },
      ...{ from: shortPosition(from), to: shortPosition(to), count, merkleRoot, prevAnchorHash },
      ...{ keyId, publicKey, signature },
    };
  });
  return { status: 200, body: { anchors } };
}

export const auditTrailRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/audit/export',
    operationId: 'exportAudit',
    isHeavy: true,
    summary: 'Every event in order with its hashes, and a signed end; `svc audit verify` checks it offline',
    tag: 'history',
    scope: 'audit:read',
    isInstallation: true,
    form: 'problem',
    parameters: [
      parameter.queryParameter('after', 'Only what came after this time (RFC 3339) or position.'),
      parameter.queryParameter('to', 'Up to this time (RFC 3339) or position.'),
    ],
    answer: {
      description: 'One JSON object per line: header, events, skipped positions, end',
      type: 'application/x-ndjson',
      schema: { type: 'string' },
      example: '{"kind":"header","format":1,…}\n{"kind":"event","position":"1",…}\n{"kind":"end",…}\n',
    },
    errors: ['at_invalid'],
    handle: exportTrail,
  },
  {
    method: 'GET',
    path: '/api/audit/anchors',
    operationId: 'listAnchors',
    summary: 'Signed anchors of the log, newest first, with the public keys',
    tag: 'history',
    scope: 'audit:read',
    isInstallation: true,
    form: 'problem',
    parameters: [parameter.limit],
    answer: {
      description: 'Anchors',
      schema: { $ref: '#/components/schemas/AnchorList' },
      example: { anchors: [] },
    },
    errors: [],
    handle: listAnchors,
  },
];
