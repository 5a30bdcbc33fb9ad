/** Branded ids, the only place where they are made, and the names of the streams that belong to them. */
import { invalidId } from './errors.ts';
import { categoryOf } from './event-store.ts';

type Branded<Name extends string> = string & { readonly __brand: Name };

export type ApiId = Branded<'ApiId'>;
export type OrgId = Branded<'OrgId'>;
/** Organisation id followed by the lower-case hex SHA-256 of the leaf's DER. */
export type CertId = Branded<'CertId'>;
/** The name of one gateway. */
export type NodeId = Branded<'NodeId'>;
/** What several gateways belong to. */
export type GroupName = Branded<'GroupName'>;
/** Of a management token; part of its text. */
export type TokenId = Branded<'TokenId'>;
/** The lower-case hex SHA-256 of an access key. */
export type KeyHash = Branded<'KeyHash'>;
export type PolicyId = Branded<'PolicyId'>;
export type WebhookId = Branded<'WebhookId'>;

const apiIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Refuses with 400 ``Invalid `ID` value`` (management design 2.3). */
export const toApiId = (text: string): ApiId => {
  if (!apiIdPattern.test(text)) throw invalidId();
  return text as ApiId;
};

const nodeIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Refuses as `toApiId` does. */
export const toNodeId = (text: string): NodeId => {
  if (!nodeIdPattern.test(text)) throw invalidId();
  return text as NodeId;
};

/** Refuses as `toApiId` does. */
export const toGroupName = (text: string): GroupName => {
  if (!nodeIdPattern.test(text)) throw invalidId();
  return text as GroupName;
};

const tokenIdPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Refuses as `toApiId` does. */
export const toTokenId = (text: string): TokenId => {
  if (!tokenIdPattern.test(text)) throw invalidId();
  return text as TokenId;
};

/** Refuses as `toApiId` does. */
export const toPolicyId = (text: string): PolicyId => {
  if (!apiIdPattern.test(text)) throw invalidId();
  return text as PolicyId;
};

/** Refuses as `toApiId` does. */
export const toWebhookId = (text: string): WebhookId => {
  if (!apiIdPattern.test(text)) throw invalidId();
  return text as WebhookId;
};

const keyHashPattern = /^[0-9a-f]{64}$/;

/** Refuses as `toApiId` does. */
export const toKeyHash = (text: string): KeyHash => {
  if (!keyHashPattern.test(text)) throw invalidId();
  return text as KeyHash;
};

/** The token that comes with the configuration. */
export const bootstrapTokenId = 'bootstrap' as TokenId;

/** Of ids that are known to be some. */
export const toOrgId = (text: string): OrgId => text as OrgId;

const orgIdPattern = /^[0-9a-f]{24}$/;

/** Refuses as `toApiId` does. */
export const readOrgId = (text: string): OrgId => {
  if (!orgIdPattern.test(text)) throw invalidId();
  return text as OrgId;
};

export const toCertId = (orgId: OrgId, fingerprint: string): CertId => `${orgId}${fingerprint}` as CertId;

export const apiStream = (id: ApiId): string => `api-${id}`;
export const certStream = (id: CertId): string => `cert-${id}`;
export const orgStream = (id: OrgId): string => `org-${id}`;
export const tokenStream = (id: TokenId): string => `token-${id}`;
export const keyStream = (id: KeyHash): string => `key-${id}`;
export const policyStream = (id: PolicyId): string => `policy-${id}`;
export const webhookStream = (id: WebhookId): string => `webhook-${id}`;
export const nodeStream = (id: NodeId): string => `gwnode-${id}`;
export const groupStream = (name: GroupName): string => `gwgroup-${name}`;
/** The claim of one host and listen path; `hash` is the SHA-256 hex of its normal form. */
export const routeStream = (hash: string): string => `uniq-route.${hash}`;
/** The claim of one name within an organisation; `hash` is the SHA-256 hex of organisation and value. */
export const nameStream = (hash: string): string => `uniq-name.${hash}`;
/** The anchors of the whole log. */
export const anchorStream = 'audit-anchors';

/** Categories that are no history: no hash chain, no anchor, no export; their events may be let go. */
const operational: ReadonlySet<string> = new Set(['gwnode', 'cell', 'canary', 'secretkey', 'svclog']);

/** Whether a stream is part of the provable history (event-store design 8.1). */
export const isAudited = (stream: string): boolean => !operational.has(categoryOf(stream));
