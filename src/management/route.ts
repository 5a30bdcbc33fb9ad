/** A row of the route table: what a route takes, answers and does; the API's own document is made from the same rows. */
import type { PublicGateway } from '../../domain/api/servers.ts';
import type { Json, JsonObject } from '../../domain/event.ts';
import type { EventStore, Position } from '../../domain/event-store.ts';
import type { CheckApi } from '../../gateway/checked-api.ts';
import type { SendWebhook } from '../../gateway/events/webhook-sender.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';
import type { Projector } from '../../projections/runner/projector.ts';
import type { AccessBodies } from './access/access-bodies.ts';
import type { ApplyCommand } from './apply/commands.ts';
import type { JudgeDocument } from './apply/judge-document.ts';
import type { JudgeObject } from './apply/set.ts';
import type { BodyRule } from './bodies/bodies.ts';
import type { Call } from './call.ts';
import type { VersionedCommands } from './definitions/version-commands.ts';
import type { ErrorCode } from './errors.ts';
import type { Deliveries } from './fleet/deliveries.ts';
import type { KeyUses } from './fleet/key-uses.ts';
import type { Nodes } from './fleet/nodes.ts';
import type { ReloadWaits } from './fleet/reloads.ts';
import type { SignedFeed } from './fleet/signed-feed.ts';
import type { Commands } from './handle-command.ts';
import type { HeldSecrets, KeptRing, KeyHealth } from './held-secrets.ts';
import type { Organisations } from './organisations.ts';
import type { PersonalData } from './personal-data.ts';
import type { ErrorForm, Reply } from './responses.ts';
import type { RestoreCommand } from './restore/restore-commands.ts';
import type { RouteScope } from './scopes.ts';
import type { Tokens } from './tokens/tokens.ts';
import type { WebhookBodies } from './webhook-bodies.ts';

/** Lines of the audit export, with their line ends. `from` is exclusive, `to` inclusive. */
export type ExportAudit = (range: { readonly from?: Position; readonly to?: Position }) => AsyncIterable<string>;

/** What handlers work with. */
export type Services = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly projector: Pick<Projector, 'waitFor' | 'readable' | 'status' | 'staleMs' | 'rebuild' | 'retry' | 'skip'>;
  /** Opens what is personal in the history, for those who may read it. */
  readonly personal: Pick<PersonalData, 'reader'>;
  /** Opens secrets for a new place, and destroys them. */
  readonly secrets: HeldSecrets & Pick<KeptRing, 'shred'>;
  readonly commands: Commands;
  readonly apiCommands: VersionedCommands;
  readonly restoreCommand: RestoreCommand;
  readonly applyCommand: ApplyCommand;
  readonly judgeObject: JudgeObject;
  readonly exportAudit: ExportAudit;
  /** Whether the key ring opens what the log needs. */
  readonly keyHealth: () => KeyHealth;
  /** The configuration as gateways get it. */
  readonly feed: SignedFeed;
  readonly nodes: Nodes;
  readonly reloadWaits: ReloadWaits;
  readonly tokens: Tokens;
  readonly organisations: Organisations;
  readonly accessBodies: AccessBodies;
  readonly webhookBodies: WebhookBodies;
  readonly judgeDocument: JudgeDocument;
  readonly sendWebhook: SendWebhook;
  /** What gateways tell of events on their way to webhooks. */
  readonly deliveries: Pick<Deliveries, 'list'>;
  /** What they tell of access keys. */
  readonly keyUses: Pick<KeyUses, 'find'>;
  /** What a stored definition comes to. */
  readonly checkApi: CheckApi;
  /** What is wrong with the body of a report. */
  readonly judgeReport: (report: Json) => readonly string[];
  /** Aborts when the server stops: ends every wait. */
  readonly stopping: AbortSignal;
  /** Of the program. */
  readonly version: string;
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>;
  /** Entries on one page of the certificate list. */
  readonly pageSize: number;
  /** Addresses that exports put into `servers`. */
  readonly publicGateways: readonly PublicGateway[];
  readonly now: () => Date;
  readonly newId: () => string;
  /** The OpenAPI document of the whole table. */
  readonly document: () => JsonObject;
};

export type Parameter = {
  readonly name: string;
  readonly in: 'query' | 'header';
  readonly description: string;
  readonly schema: JsonObject;
};

export type RouteBody = BodyRule & {
  readonly description: string;
  /** Name of a component schema; absent for bytes. */
  readonly schema?: string;
  /** Every member has a default: a request without a body means them. */
  readonly isOptional?: true;
  readonly example: Json;
};

type RouteAnswer = {
  /** Default 200, and of every dry run. */
  readonly status?: 202;
  /** Answers 200 instead, in the same form, when it was asked to wait. */
  readonly isWaitable?: true;
  readonly description: string;
  readonly type?: string;
  readonly schema?: JsonObject;
  readonly example?: Json;
};

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** OpenAPI form: `/api/apis/{apiId}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  /** Absent: open to everyone. */
  readonly scope?: RouteScope;
  /** How it answers errors to clients that ask for nothing special. */
  readonly form: ErrorForm;
  readonly parameters: readonly Parameter[];
  /** Before anything is read of the body: throws for a path that names nothing that this route is about. */
  readonly checkPath?: (params: Call['params']) => void;
  readonly body?: RouteBody;
  /** About several APIs, of which it shows those that the caller's token is for. */
  readonly isNarrowed?: true;
  /** About all organisations, or none: for tokens of the first one, and for those who look after all. */
  readonly isInstallation?: true;
  /** Reads or writes much: counted a second time, by a limit of its own. */
  readonly isHeavy?: true;
  /** The size of a definition follows `management.body_limit`. */
  readonly isDefinition?: true;
  readonly answer: RouteAnswer;
  /** Codes beside those that every route may answer. */
  readonly errors: readonly ErrorCode[];
  readonly handle: (call: Call, services: Services) => Promise<Reply> | Reply;
};
