/** One request on its way through the chain: what came in, what steps changed, what goes out. Steps see this and nothing else. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ApiDefinition } from '../../domain/api/definition.ts';
import type { KeySession } from '../access/session.ts';
import { ClientBody } from './body.ts';
import type { BodyCopy } from './body-copy.ts';
import type { Connection } from './connections.ts';
import { type Answer, type Failure, type RefusalCode, refusal } from './errors.ts';
import type { Head } from './head.ts';
import type { HeaderNames } from './headers.ts';
import type { Lease } from './lease.ts';
import type { ToldLimit } from './limits.ts';

/** Nothing: go on. An answer ends the half in which the step stands. Awaited only when it is a promise. */
export type Step = (context: Context) => StepResult | Promise<StepResult>;
export type StepResult = Answer | undefined;

/** The last step of the request half: it answers by itself, now or later, and never throws. */
export type Terminal = (context: Context) => void;

/** An API as it is served. Immutable; a snapshot that does not concern the API shares it with the one before. */
export type Route = {
  readonly definition: ApiDefinition;
  /** Stream revision of the definition. */
  readonly apiRevision: string;
  readonly request: readonly Step[];
  readonly response: readonly Step[];
  readonly terminal: Terminal;
  /** Header names (lower case, dashes) that no name with underscores may pass for. */
  readonly guarded: ReadonlySet<string>;
  /** As recorded: the name under which a version is served, and the listen path by which it is reached. */
  readonly version: string;
  readonly listenPath: string;
  /** Of a base API: which of its versions a request is for. The others pay for one look at this. */
  readonly versions: PickVersion | undefined;
  /** What every record of the API carries. */
  readonly recordTags: readonly string[];
  /** Undefined: none of its requests is recorded in detail, which then costs nothing. */
  readonly detail: RouteDetail | undefined;
  readonly lease: Lease;
};

/** Copies of the bodies of a request that is recorded in detail. */
export type Detail = { readonly request: BodyCopy; readonly response: BodyCopy };

/** What is written of a detail, base64; `truncated`: bytes of each direction that are not in it. */
export type WrittenDetail = {
  readonly raw_request: string;
  readonly raw_response: string;
  readonly truncated?: { readonly request: number; readonly response: number };
};

/** The detail of a request that is over, to be written behind the requests' backs. */
export type PendingDetail = {
  /** Memory that it takes, and may take once it is written. */
  readonly bytes: number;
  /** Bytes of the bodies. */
  readonly sizes: { readonly request: number; readonly response: number };
  readonly write: () => Promise<WrittenDetail>;
};

export type RouteDetail = {
  /** Decides whether the request is recorded in detail, once it is known who calls; null: it is not. */
  begin(context: Context): Detail | null;
  /** After the answer. Undefined: not in detail. */
  end(context: Context): PendingDetail | undefined;
};

/** Who serves a request, and what is left of its head and path for them. */
type Picked = { readonly route: Route; readonly head: Head; readonly rest: string };

/** Picks by the head and the path below the listen path. Never throws. */
export type PickVersion = (head: Head, rest: string) => Picked;

/** An upgraded connection in place of a response. */
export type Upgrade = { readonly protocol: string; readonly socket: Duplex; readonly head: Buffer };

/** What waits for an upstream and has to end when the client leaves; a tunnel also says goodbye when the gateway stops. */
export type Cancellable = { cancel(): void; goAway?(): void };

/** Who accepted the request, and is told once when it is over. */
export type Owner = { readonly isStopping: boolean; over(context: Context): void };

/** The upstream's answer, as the response half sees and changes it. */
export type AnswerHead = { status: number; statusText: string; headers: string[] };

/** What copies the upstream's answer on its way to the client, to keep it. */
export interface AnswerCopy {
  /** Bytes are wanted. */
  readonly isOpen: boolean;
  take(chunk: Buffer): void;
  /** The answer has come whole. */
  end(): void;
  /** It will not. After `end` it means nothing. */
  drop(): void;
}

/** What a step found out about who calls: what the record shows, also of a credential that nobody has. */
export type Session = { readonly keyId: string; readonly alias: string; readonly tags: readonly string[] };

const noFields: readonly (readonly [string, string])[] = [];
const noHeaders: readonly string[] = [];
const noLimits: readonly ToldLimit[] = [];
const noSessions: readonly KeySession[] = [];
const noAlarms: readonly number[] = [];

/** Keyless, or a credential that nobody has. */
const nobody: Session = { keyId: '', alias: '', tags: [] };

export type Arrival = {
  readonly owner: Owner;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  readonly head: Head;
  readonly route: Route;
  readonly arrivedMs: number;
  readonly startedMs: number;
};

export class Context {
  readonly owner: Owner;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  readonly head: Head;
  /** The one revision that serves the request, without leading zeros. */
  readonly revision: string;
  readonly route: Route;
  /** Path below the listen path, in normal form. */
  readonly rest: string;
  /** Wall clock, ms since 1970. */
  readonly arrivedMs: number;
  /** Monotonic, ms. */
  readonly startedMs: number;
  readonly requestId: string = randomUUID();

  /** What goes to the upstream. Replaced by steps, never changed in place. */
  headers: readonly string[];
  /** The part of the query that goes to the upstream. */
  query: string;
  /** `Host` for the upstream when a step has set one. */
  upstreamHost = '';
  session: Session = nobody;
  /** What the key of the request may do. Undefined: keyless, or nobody has been let in yet. */
  access: KeySession | undefined;
  /** Of other keys that the request had to bring: they authenticate, and say nothing of what may be done. */
  alongside: readonly KeySession[] = noSessions;
  /** The credential that let the request in, as variables know it. Never written anywhere. */
  token = '';
  /** Headers of the answer that steps of the request half set: they replace the same names, whoever answers. */
  readonly answerHeaders: string[] = [];
  /** Headers that the answer must not have, whoever answers. */
  withheld: HeaderNames | undefined;
  /** Limits that the request has met, as its client is told of them. */
  limits: readonly ToldLimit[] = noLimits;
  limitsAt = 0;
  /** Percentages of the key's quota that this request has used up, where somebody wants to know. */
  quotaAlarms: readonly number[] = noAlarms;
  body: ClientBody | undefined;
  /** The body when a step had to read it whole. */
  bufferedBody: Buffer | undefined;
  /** Fields of a form body, when a step has read it. */
  fields: readonly (readonly [string, string])[] = noFields;
  /** Longest body that the API takes; 0 = no limit of its own. */
  maxBodyBytes = 0;
  /** The client waits for 100 before it sends its body. */
  expectsContinue = false;
  upgrade: Upgrade | undefined;

  answer: AnswerHead | undefined;
  /** Of an answer of the gateway's own. */
  answerBody: string | Uint8Array | undefined;
  /** Undefined until somebody had to know; null: not recorded in detail. */
  detail: Detail | null | undefined;
  /** Headers of the answer as the upstream sent them. */
  sentHeaders: readonly string[] = noHeaders;
  copy: AnswerCopy | undefined;
  /** What became of the request at the cache of its API. Undefined: it was not asked. */
  cache: 'hit' | 'miss' | 'bypass' | undefined;
  failure: Failure | undefined;
  pending: Cancellable | undefined;
  /** Host of the target that was asked, as recorded. */
  targetHost = '';
  /** Path that was asked of it, without query. */
  targetPath = '';
  upstreamMs = 0;
  bytesOut = 0;
  /** Bytes that an upgraded connection carried from the client. */
  tunnelledIn = 0;
  isOver = false;

  constructor(arrival: Arrival, revision: string, rest: string) {
    this.owner = arrival.owner;
    this.incoming = arrival.incoming;
    this.response = arrival.response;
    this.connection = arrival.connection;
    this.head = arrival.head;
    this.revision = revision;
    this.route = arrival.route;
    this.rest = rest;
    this.arrivedMs = arrival.arrivedMs;
    this.startedMs = arrival.startedMs;
    this.headers = arrival.head.headers;
    this.query = arrival.head.query;
  }

  refuse(
    code: RefusalCode,
    extraHeaders: readonly string[] = [],
    details?: { flag?: string; details?: string },
  ): Answer {
    const request = { revision: this.revision, contentType: this.head.contentType };
    return refusal({ code, ...details }, request, extraHeaders);
  }

  /** Opens the body for whoever sends it on. */
  openBody(idleMs: number): ClientBody {
    const limits = { maxBytes: this.maxBodyBytes, idleMs };
    this.body ??= new ClientBody(this.incoming, limits, this.expectsContinue ? this.response : undefined);
    this.body.copy = this.detail?.request;
    return this.body;
  }

  get hasBody(): boolean {
    return this.head.isChunked || this.head.contentLength > 0;
  }

  /** Body bytes of the request that were read so far. */
  get bytesIn(): number {
    return this.body?.bytes ?? this.tunnelledIn;
  }
}
