/** What a restore leaves of references: certificates and versions that come back with their APIs, and what goes although something that stays names it. */
import { namedCertificates } from '../../../domain/api/certificate-uses.ts';
import { canonical } from '../../../domain/api/classic/codec.ts';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import { policiesIn } from '../../../domain/api/policy-references.ts';
import type { Problem } from '../../../domain/errors.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type CertId, type OrgId, toApiId, toWebhookId } from '../../../domain/ids.ts';
import { eachApi } from '../../../projections/api-catalog.ts';
import { apisUsing, type CertificateUser } from '../../../projections/certificate-uses.ts';
import { keysWithCertificate, keysWithPolicy } from '../../../projections/keys.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { certificateReferences } from '../definitions/certificate-references.ts';
import { type Beside, judgeVersions } from '../definitions/version-rules.ts';
import type { PlannedWrite } from '../handle-command.ts';
import { namesWebhook } from '../webhook-commands.ts';
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
  const usersOf = usersFinder(reads.models, orgId, items);
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
      judged.push(item.change === 'deleted' || losesKey(item) ? withUsers(item, usersOf(item)) : item);
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
      .map((item) => [item.id, { hasPrivate: hasKey(item.after) || (hasKey(item.before) && !losesKey(item)) }]),
  );

const hasKey = (certificate: RestoreItem['after']): boolean => certificate?.['secret'] !== undefined;

/** A certificate that stays without the private key that it got later. */
const losesKey = ({ change, write }: RestoreItem): boolean =>
  change === 'changed' && write.events.some(({ type }) => type === 'CertificateDeleted');

/** The key of a certificate goes with it for good; anything else another restore brings back. */
function withUsers(item: RestoreItem, users: readonly string[]): RestoreItem {
  if (users.length === 0) return item;
  const text = `${losesKey(item) ? 'its private key is ' : ''}in use by ${named(users)}`;
  if (item.kind !== 'cert') return { ...item, warnings: [...item.warnings, `${text}, which stays`] };
  const problem: Problem = { pointer: '', code: 'certificate_in_use', message: `${text}; keepNew leaves it` };
  return { ...item, problems: [...item.problems, problem] };
}

const maxNamed = 10;

const named = (users: readonly string[]): string =>
  users.length <= maxNamed
    ? users.join(', ')
    : `${users.slice(0, maxNamed).join(', ')} and ${users.length - maxNamed} more`;

/** In words, what will still name an object that goes. */
function usersFinder(models: DocumentReader, orgId: OrgId, items: readonly RestoreItem[]) {
  const moved = new Set(items.filter(({ change }) => change !== 'kept').map((item) => `${item.kind} ${item.id}`));
  const staying = (user: string): boolean => !moved.has(user);
  const apisNaming = apisByName(models, orgId, items);
  return function usersOf(item: RestoreItem): readonly string[] {
    const { kind, id } = item;
    if (kind === 'cert') {
      const certId = id as CertId;
      const using = apisUsing(models, orgId, certId);
      if (losesKey(item)) return using.filter(needsKey).map(asUser).filter(staying);
      const back = items.flatMap((item) => (isBack(item) && namesCertificate(item, certId) ? [`api ${item.id}`] : []));
      const apis = using.map(asUser);
      const keys = keysWithCertificate(models, orgId, certId).map((hash) => `key ${hash}`);
      return [...back, ...[...apis, ...keys].filter(staying)];
    }
    const keys = kind === 'policy' ? keysWithPolicy(models, orgId, id).map((hash) => `key ${hash}`) : [];
    return [...keys, ...(apisNaming.get(`${kind} ${id}`) ?? [])].filter(staying);
  };
}

const asUser = ({ api_id: id }: CertificateUser): string => `api ${id}`;

const needsKey = ({ usage_type: roles }: CertificateUser): boolean =>
  roles.some((role) => role === 'server' || role === 'upstream');

/** Which APIs name the policies and webhooks that go: one pass over the APIs, however many these are. */
function apisByName(
  models: DocumentReader,
  orgId: OrgId,
  items: readonly RestoreItem[],
): ReadonlyMap<string, readonly string[]> {
  const idsOf = (kind: RestoreItem['kind']): readonly string[] =>
    items.flatMap((item) => (item.kind === kind && item.change === 'deleted' ? [item.id] : []));
  const [policies, webhooks] = [new Set(idsOf('policy')), idsOf('webhook').map(toWebhookId)];
  const found = new Map<string, string[]>();
  if (policies.size + webhooks.length === 0) return found;
  for (const { apiId, document } of eachApi(models, orgId)) {
    const names = [
      ...[...policiesIn(document)].filter((id) => policies.has(id)).map((id) => `policy ${id}`),
      ...webhooks.filter((id) => namesWebhook(document, id)).map((id) => `webhook ${id}`),
    ];
    for (const name of names) found.set(name, [...(found.get(name) ?? []), `api ${apiId}`]);
  }
  return found;
}

const namesCertificate = ({ api }: RestoreItem, certId: CertId): boolean =>
  api?.past.exists === true && certificatesIn(api.past.document).includes(certId);

const certificatesIn = (document: ApiDocument): readonly string[] =>
  namedCertificates(canonical(document)).map((use) => use.certId);
