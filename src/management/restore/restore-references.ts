/** What a restore leaves of references: certificates and versions that come back with their APIs, and what goes although something that stays names it. */
import { namedCertificates } from '../../../domain/api/certificate-uses.ts';
import { canonical } from '../../../domain/api/classic/codec.ts';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import type { Problem } from '../../../domain/errors.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type CertId, type OrgId, toApiId, toPolicyId, toWebhookId } from '../../../domain/ids.ts';
import { apisUsing } from '../../../projections/certificate-uses.ts';
import { keysWithCertificate, keysWithPolicy } from '../../../projections/keys.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { apisWithPolicy } from '../access/policy-commands.ts';
import { certificateReferences } from '../definitions/certificate-references.ts';
import { type Beside, judgeVersions } from '../definitions/version-rules.ts';
import type { PlannedWrite } from '../handle-command.ts';
import { apisNaming } from '../webhook-commands.ts';
import type { RestoreItem } from './restore-plan.ts';

type Reads = { readonly store: EventStore; readonly models: DocumentReader };

type Referred = {
  readonly items: readonly RestoreItem[];
  /** What was found must still be there when the restore is stored. */
  readonly checks: readonly PlannedWrite[];
};

export async function judgeReferences(reads: Reads, orgId: OrgId, items: readonly RestoreItem[]): Promise<Referred> {
  const checks: PlannedWrite[] = [];
  const certificates = certificatesOf(items);
  const apis = new Map(items.filter(({ kind }) => kind === 'api').map((item) => [item.id, item]));
  const beside: Beside = (id) => documentAfter(apis.get(id));
  const judged: RestoreItem[] = [];
  for (const item of items) {
    const past = isBack(item) && !item.isTaken && item.problems.length === 0 ? item.api?.past : undefined;
    if (past?.exists) {
      const { document } = past;
      const named = await certificateReferences(reads.store, orgId, document, certificates);
      const listed = await judgeVersions(reads, { orgId, apiId: toApiId(item.id), document, beside });
      checks.push(...named.checks, ...listed.guards);
      judged.push({ ...item, problems: [...named.problems, ...listed.problems] });
    } else {
      judged.push(item.change === 'deleted' ? withUsers(item, usersOf(reads.models, orgId, item, items)) : item);
    }
  }
  const written = new Set(items.map(({ write }) => write.stream));
  const others = new Map(checks.filter(({ stream }) => !written.has(stream)).map((check) => [check.stream, check]));
  return { items: judged, checks: [...others.values()] };
}

/** What the restore makes of an API; undefined for one that it leaves as it is. */
function documentAfter(item: RestoreItem | undefined): ReturnType<Beside> {
  if (item?.change === 'deleted') return 'gone';
  return item && isBack(item) && item.api?.past.exists ? item.api.past.document : undefined;
}

const isBack = ({ change }: RestoreItem): boolean => change === 'created' || change === 'changed';

/** What the restore makes of certificates. A private key that is a hole is told as one, and allowed as one. */
const certificatesOf = (items: readonly RestoreItem[]): ReadonlyMap<string, { readonly hasPrivate: boolean }> =>
  new Map(
    items
      .filter((item) => item.kind === 'cert' && (isBack(item) || item.hole !== undefined))
      .map(({ id, after }) => [id, { hasPrivate: after?.['secret'] !== undefined }]),
  );

/** The key of a certificate goes with it for good; anything else another restore brings back. */
function withUsers(item: RestoreItem, users: readonly string[]): RestoreItem {
  if (users.length === 0) return item;
  const text = `in use by ${named(users)}`;
  if (item.kind !== 'cert') return { ...item, warnings: [...item.warnings, `${text}, which stays`] };
  const problem: Problem = { pointer: '', code: 'certificate_in_use', message: `${text}; keepNew leaves it` };
  return { ...item, problems: [...item.problems, problem] };
}

const maxNamed = 10;

const named = (users: readonly string[]): string =>
  users.length <= maxNamed
    ? users.join(', ')
    : `${users.slice(0, maxNamed).join(', ')} and ${users.length - maxNamed} more`;

/** In words, what will still name the object. */
function usersOf(
  models: DocumentReader,
  orgId: OrgId,
  { kind, id }: RestoreItem,
  items: readonly RestoreItem[],
): readonly string[] {
  const moved = new Set(items.filter(({ change }) => change !== 'kept').map((item) => `${item.kind} ${item.id}`));
  const staying = (user: string): boolean => !moved.has(user);
  switch (kind) {
    case 'cert': {
      const certId = id as CertId;
      const back = items.flatMap((item) => (isBack(item) && namesCertificate(item, certId) ? [`api ${item.id}`] : []));
      const apis = apisUsing(models, orgId, certId).map((user) => `api ${user.api_id}`);
      const keys = keysWithCertificate(models, orgId, certId).map((hash) => `key ${hash}`);
      return [...back, ...[...apis, ...keys].filter(staying)];
    }
    case 'policy': {
      const keys = keysWithPolicy(models, orgId, id).map((hash) => `key ${hash}`);
      const apis = apisWithPolicy(models, orgId, toPolicyId(id)).map((api) => `api ${api}`);
      return [...keys, ...apis].filter(staying);
    }
    case 'webhook':
      return apisNaming(models, orgId, toWebhookId(id))
        .map((api) => `api ${api}`)
        .filter(staying);
    default:
      return [];
  }
}

const namesCertificate = ({ api }: RestoreItem, certId: CertId): boolean =>
  api?.past.exists === true && certificatesIn(api.past.document).includes(certId);

const certificatesIn = (document: ApiDocument): readonly string[] =>
  namedCertificates(canonical(document)).map((use) => use.certId);
