/** Whether what came over the feed or from disk has the shape of a snapshot, or of changes: malformed answers change nothing. */
import {
  type GatewayChange,
  type GatewayObject,
  type GatewaySnapshot,
  objectKey,
} from '../../projections/gateway-snapshot.ts';
import type { SignedChanges, SignedSnapshot } from './signed.ts';

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const areTexts = (...values: readonly unknown[]): boolean => values.every((value) => typeof value === 'string');

const formats: ReadonlySet<unknown> = new Set([1, 2]);

export function isSnapshot(value: unknown): value is GatewaySnapshot {
  if (!isRecord(value) || !formats.has(value['format'])) return false;
  const { logId, era, position, revision, objects } = value;
  return (
    areTexts(logId, position, revision) &&
    logId !== '' &&
    Number.isSafeInteger(era) &&
    String(revision) <= String(position) &&
    isRecord(objects) &&
    Object.entries(objects).every(([key, object]) => isObject(object) && key === keyOf(object))
  );
}

/** Ordered, and none beyond `next`. */
export function areChanges(changes: unknown, next: unknown): changes is readonly GatewayChange[] {
  if (!Array.isArray(changes) || typeof next !== 'string') return false;
  let last = '';
  for (const change of changes as unknown[]) {
    if (!isChange(change) || change.position < last || change.position > next) return false;
    last = change.position;
  }
  return true;
}

function isChange(value: unknown): value is GatewayChange {
  if (!isRecord(value) || typeof value['position'] !== 'string') return false;
  if (value['op'] === 'upsert') return isObject(value['object']);
  return value['op'] === 'remove' && areTexts(value['kind'], value['id']);
}

function isObject(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { kind, id, revision, position, sha256, body } = value;
  return (
    areTexts(kind, id, revision, position, sha256) &&
    isRecord(body) &&
    areTexts(body['orgId']) &&
    (bodies.get(String(kind))?.(body) ?? true) &&
    areSecrets(body['sealed'], body['withheld'])
  );
}

const hasDocument = (body: Readonly<Record<string, unknown>>): boolean => isRecord(body['document']);

const isQuota = (quota: unknown): boolean =>
  quota === undefined ||
  (isRecord(quota) && areTexts(quota['epoch']) && (quota['others'] === undefined || isRecord(quota['others'])));

/** A kind that this gateway does not know is carried along, and does nothing. */
const bodies: ReadonlyMap<string, (body: Readonly<Record<string, unknown>>) => boolean> = new Map([
  ['api', (body) => areTexts(body['apiKind']) && hasDocument(body)],
  ['key', (body) => areTexts(body['createdAt']) && isQuota(body['quota']) && hasDocument(body)],
  ['policy', hasDocument],
  ['webhook', hasDocument],
  ['redelivery', ({ requests }) => Array.isArray(requests) && requests.every(isRedelivery)],
  ['organisation', (body) => isRecord(body['terms'])],
  ['cache-flush', (body) => areTexts(body['flushId'])],
  ['reload', (body) => areTexts(body['reloadId']) && (body['scope'] === 'all' || isRecord(body['scope']))],
]);

const isRedelivery = (value: unknown): boolean => {
  if (!isRecord(value)) return false;
  const { position, redeliveryId, ids } = value;
  return areTexts(position, redeliveryId) && (ids === 'all' || (Array.isArray(ids) && areTexts(...ids)));
};

const areSecrets = (sealed: unknown, withheld: unknown): boolean =>
  (sealed === undefined || (isRecord(sealed) && areTexts(sealed['type']) && Array.isArray(sealed['secrets']))) &&
  (withheld === undefined || (Array.isArray(withheld) && areTexts(...withheld)));

const keyOf = (object: unknown): string => {
  const { kind, id } = object as Pick<GatewayObject, 'kind' | 'id'>;
  return objectKey(kind, id);
};

/** What a signature and its check need beside the configuration itself. */
export const isProvenSnapshot = (value: unknown): value is SignedSnapshot =>
  isSnapshot(value) && areProofs(value, 'createdAt', 'group', 'sha256', 'publicKey') && hasBoxes(value);

export function areProvenChanges(value: unknown): value is SignedChanges {
  if (!isRecord(value) || !areProofs(value, 'logId', 'after', 'next') || !hasBoxes(value)) return false;
  return Number.isSafeInteger(value['era']) && areChanges(value['changes'], value['next']);
}

const areProofs = (value: object, ...names: readonly string[]): boolean => {
  const of = value as Readonly<Record<string, unknown>>;
  const { tags } = of;
  return (
    Array.isArray(tags) && areTexts(...tags) && areTexts(...['keyId', 'signature', ...names].map((name) => of[name]))
  );
};

/** Secrets for this node, where there are some. */
function hasBoxes(value: object): boolean {
  const { secrets } = value as { readonly secrets?: unknown };
  if (secrets === undefined) return true;
  if (!isRecord(secrets)) return false;
  const { node, recipient, signature, boxes } = secrets;
  return areTexts(node, recipient, signature) && isRecord(boxes) && Object.values(boxes).every(isBox);
}

function isBox(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { era, position, enc, secrets } = value;
  return (
    Number.isSafeInteger(era) &&
    areTexts(position, enc) &&
    Array.isArray(secrets) &&
    secrets.every((one) => isRecord(one) && areTexts(one['pointer'], one['box']))
  );
}
