/** Runs a command: the idempotency record, a plan made on fresh state, one append, again on conflict, the wait for reads. */
import { v5, v7 } from 'uuid';
import { type DocumentSecret, sealedPath } from '../../domain/document-secrets.ts';
import { Refusal, tooManyConflicts } from '../../domain/errors.ts';
import type { Actor, EventMetadata, Secret } from '../../domain/event.ts';
import {
  type Appended,
  type AppendOptions,
  type EventStore,
  EventStoreError,
  type Expected,
  type NewEvent,
  type Position,
  shortPosition,
  type Write,
} from '../../domain/event-store.ts';
import { type DomainEvent, encodeEvent } from '../../domain/events.ts';
import type { OrgId } from '../../domain/ids.ts';
import { sealedDocuments, sealedFields } from '../../domain/sealed-fields.ts';
import { openSeries } from '../../projections/commands.ts';
import { partsOf } from './append-parts.ts';
import { Rejection } from './errors.ts';
import type { Seal } from './held-secrets.ts';
import { createKeyedMutex } from './keyed-mutex.ts';
import type { PersonalData } from './personal-data.ts';
import type { Reply } from './responses.ts';
import { turnsOf } from './traffic/pause.ts';

/** Who asks for what, apart from the command itself. */
export type CommandContext = {
  readonly orgId: OrgId;
  readonly actor: Actor;
  readonly requestId: string;
  readonly traceparent?: string;
  /** Of the caller; sealed before they are stored. */
  readonly address?: string;
  readonly person?: string;
  readonly userAgentHash?: string;
  /** The change message. */
  readonly comment?: string;
  readonly idempotencyKey?: string;
  /** SHA-256 hex over method, path, query and body. */
  readonly requestHash: string;
  /** Everything but the append. */
  readonly isDryRun: boolean;
  /** The organisation wants to be told which revision is changed, and was not. A dry run is how one learns it. */
  readonly lacksIfMatch?: true;
};

export type PlannedWrite = {
  readonly stream: string;
  readonly expected: Expected;
  readonly events: readonly DomainEvent[];
};

/** What would be appended, and the answer when it is. Without events nothing is appended. */
export type Plan = {
  readonly writes: readonly PlannedWrite[];
  readonly reply: Reply;
  /** What is stored for repeats in its place: an answer with a secret is given once. */
  readonly replayed?: Reply;
  /** Of a dry run, in place of `reply`: what takes long, and no other command waits for. */
  readonly dryReply?: () => Promise<Reply>;
  /** Where the object stands when nothing is appended. */
  readonly position?: Position;
};

export type Command = {
  /** `PatchApi`: goes into the metadata. */
  readonly type: string;
  /** The stream or other name under which commands wait for each other. */
  readonly aggregate: string;
  /** Reads and decides; called again when another writer came between. Throws refusals. */
  plan(commandId: string): Promise<Plan>;
};

export type Commands = {
  /** The answer, with `x-svc-revision`. Throws refusals and errors of the store. */
  run(context: CommandContext, command: Command): Promise<Reply>;
};

export type CommandsOptions = {
  readonly store: EventStore;
  readonly seal: Seal;
  readonly personal: Pick<PersonalData, 'seal'>;
  readonly now: () => Date;
  /** Waits, bounded, until reads show the position. */
  readonly settled: (position: Position) => Promise<unknown>;
};

/** Namespace of command ids made from idempotency keys; never to be changed. */
const commandNamespace = '8d0f3e5c-6f0b-4c8e-9a51-3f6f0c6a7b1d';

const maxDecisions = 5;
const maxAppends = 3;
const appendTimeoutMs = 10_000;
const appendTimeoutPerEventMs = 1;
// Thousands at once would have this thread to themselves, and each would make the key of a new month.
const encodedAtOnce = 16;

export function createCommands(options: CommandsOptions): Commands {
  const { store, settled } = options;
  const exclusively = createKeyedMutex();
  const inFlight = new Set<string>();

  const runOnce = async (context: CommandContext, command: Command, commandId: string): Promise<Reply> => {
    const replay = await replayOf(store, context, commandId);
    if (replay) return replay;
    const decided = () => decideAndAppend(options, context, command, commandId);
    const done = await exclusively(command.aggregate, decided).catch(async (error: unknown): Promise<Done> => {
      // Another node may have run the same key between our look and our decision, which then refuses what is done.
      const replay = isRefusal(error) ? await replayOf(store, context, commandId) : undefined;
      if (replay) return { reply: replay };
      throw error;
    });
    // Nothing is on its way: a dry run is done when it is answered.
    if (context.isDryRun) {
      const reply = (await done.dryReply?.()) ?? done.reply;
      return withHeader({ ...reply, status: 200 }, 'x-svc-dry-run', 'true');
    }
    if (done.position === undefined) return done.reply;
    await settled(done.position);
    return withHeader(done.reply, 'x-svc-revision', shortPosition(done.position));
  };

  return {
    run: async (context, command) => {
      const { idempotencyKey, isDryRun } = context;
      if (idempotencyKey === undefined || isDryRun) return runOnce(context, command, v7());
      const commandId = keyedId(context, idempotencyKey);
      if (inFlight.has(commandId)) {
        throw new Rejection('idempotency_in_flight', 'A request with this Idempotency-Key is running', {
          headers: { 'Retry-After': '1' },
        });
      }
      inFlight.add(commandId);
      try {
        return await runOnce(context, command, commandId);
      } finally {
        inFlight.delete(commandId);
      }
    },
  };
}

const isRefusal = (error: unknown): boolean => error instanceof Refusal || error instanceof Rejection;

/** A key belongs to who sent it: what another one was answered is not for everybody who repeats the request. */
const keyedId = ({ orgId, actor }: CommandContext, idempotencyKey: string): string =>
  v5(`${orgId}\n${actor.type}\n${actor.id}\n${idempotencyKey}`, commandNamespace);

const withHeader = (reply: Reply, name: string, value: string): Reply => ({
  ...reply,
  headers: { ...reply.headers, [name]: value },
});

/** The answer that an earlier request with the same key got. */
async function replayOf(store: EventStore, context: CommandContext, commandId: string): Promise<Reply | undefined> {
  if (context.idempotencyKey === undefined || context.isDryRun) return undefined;
  const record = await store.command(commandId);
  if (!record) return undefined;
  if (record.requestHash !== context.requestHash) {
    throw new Rejection('idempotency_key_reused', 'Idempotency-Key was used with another request');
  }
  const position = shortPosition(record.position);
  if (!record.response) {
    const text = `The answer for this Idempotency-Key is no longer kept; the change stands at position ${position}`;
    throw new Rejection('idempotency_key_expired', text);
  }
  const reply = JSON.parse(new TextDecoder().decode(record.response)) as Reply;
  return { ...reply, headers: { ...reply.headers, 'x-svc-revision': position, 'Idempotency-Replayed': 'true' } };
}

/** Without position the reply is complete. */
type Done = Pick<Plan, 'reply' | 'dryReply' | 'position'>;

async function decideAndAppend(
  options: CommandsOptions,
  context: CommandContext,
  command: Command,
  commandId: string,
): Promise<Done> {
  for (let decision = 1; decision <= maxDecisions; decision++) {
    const plan = await command.plan(commandId);
    if (context.lacksIfMatch && !context.isDryRun) {
      throw new Rejection('precondition_required', 'If-Match is required');
    }
    const hasEvents = plan.writes.some(({ events }) => events.length > 0);
    const isKept = context.idempotencyKey !== undefined;
    if (context.isDryRun || !(hasEvents || isKept)) return plan;
    try {
      const { position, duplicate } = await appendPlan(options, context, command, commandId, plan);
      // Another node ran the same key between our look and our append: its answer is the one that counts.
      const replay = duplicate ? await replayOf(options.store, context, commandId) : undefined;
      if (replay) return { reply: replay };
      return hasEvents ? { reply: plan.reply, position } : plan;
    } catch (error) {
      if (!(error instanceof EventStoreError)) throw error;
      // The same, when the other node decided on other events.
      if (error.code === 'IdReuse') {
        const replay = await replayOf(options.store, context, commandId);
        if (replay) return { reply: replay };
      }
      if (error.code !== 'WrongExpectedVersion') throw error;
    }
  }
  throw tooManyConflicts();
}

/**
 * The record of the command is written with the last part, and the events of the others say that more follows where the
 * events are the record: as long as the last part is missing, a repeat plans what is left.
 */
async function appendPlan(
  options: CommandsOptions,
  context: CommandContext,
  command: Command,
  commandId: string,
  { writes, reply, replayed = reply }: Plan,
): Promise<Appended> {
  const { store } = options;
  const { idempotencyKey, requestHash } = context;
  const parts = partsOf(store.can, writes.some(({ events }) => events.length > 0) ? writes : []);
  const isSeries = parts.length > 1;
  const idOf = isSeries ? idInSeries : idInAppend();
  for (const part of parts.slice(0, -1)) {
    const encoded = await encodeWrites(options, context, command, { commandId, isOpen: true, idOf }, part);
    await append(store, encoded, { commandId: encoded[0]?.events[0]?.id ?? commandId, requestHash });
  }
  const last = { commandId, isOpen: false, idOf };
  const encoded = await encodeWrites(options, context, command, last, parts.at(-1) ?? []);
  const response = idempotencyKey === undefined ? {} : { response: new TextEncoder().encode(JSON.stringify(replayed)) };
  return append(store, encoded, { commandId, requestHash, ...response });
}

/** Where a part stands: in which command, whether others follow it, and which ids its events get. */
type PartOf = { readonly commandId: string; readonly isOpen: boolean; readonly idOf: IdOf };

type IdOf = (write: PlannedWrite, index: number) => string;

/** The place of the event in the append. */
const idInAppend = (): IdOf => {
  let count = 0;
  return () => String(count++);
};

/** The place of the event in the log: what is left of a series has the same ids, however much was done before. */
const idInSeries: IdOf = ({ stream, expected }, index) => `${stream}@${expected}/${index}`;

/** The same append is repeated when its outcome is not known; the ids of its events make that safe. */
async function append(
  store: EventStore,
  writes: readonly Write[],
  options: Omit<AppendOptions, 'timeoutMs'>,
): Promise<Appended> {
  const count = writes.reduce((sum, { events }) => sum + events.length, 0);
  const timeoutMs = appendTimeoutMs + count * appendTimeoutPerEventMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.append(writes, { ...options, timeoutMs });
    } catch (error) {
      const isUnknown = error instanceof EventStoreError && error.code === 'UnknownOutcome';
      if (!isUnknown || attempt >= maxAppends) throw error;
    }
  }
}

/** Event ids follow from the command id and the place of the event. */
async function encodeWrites(
  { seal, personal, now }: CommandsOptions,
  context: CommandContext,
  command: Command,
  { commandId, isOpen, idOf }: PartOf,
  writes: readonly PlannedWrite[],
): Promise<readonly Write[]> {
  const { orgId, address, person } = context;
  const at = now();
  const meta = { ...metadataOf(context, command.type, commandId, at), ...(isOpen ? openSeries : {}) };
  const encode = async (write: PlannedWrite, event: DomainEvent, index: number): Promise<NewEvent> => {
    const id = v5(idOf(write, index), commandId);
    const about = { orgId, at, stream: write.stream, type: event.type };
    const own = {
      ...(address ? { ip: await personal.seal(address, { ...about, name: 'ip' }) } : {}),
      ...(person ? { actorDetail: await personal.seal(person, { ...about, name: 'actorDetail' }) } : {}),
    };
    return encodeEvent(await sealed(event, write.stream, seal), id, { ...meta, ...own });
  };
  const encoded: Write[] = [];
  const pause = turnsOf(4);
  for (let start = 0; start < writes.length; start += encodedAtOnce) {
    const some = writes.slice(start, start + encodedAtOnce).map(async (write) => ({
      stream: write.stream,
      expected: write.expected,
      events: await Promise.all(write.events.map((event, index) => encode(write, event, index))),
    }));
    encoded.push(...(await Promise.all(some)));
    await pause();
  }
  return encoded;
}

/** Event-store design 8.3. Ids only, never names or secrets; the address and the person are sealed for each event. */
function metadataOf(context: CommandContext, commandType: string, commandId: string, at: Date): EventMetadata {
  const { orgId, actor, requestId, requestHash, traceparent, comment, idempotencyKey, userAgentHash } = context;
  return {
    v: '1',
    at: at.toISOString(),
    orgId,
    actorType: actor.type,
    actorId: actor.id,
    ...(actor.type === 'token' ? { authMethod: 'token' } : {}),
    requestId,
    correlationId: requestId,
    causationId: commandId,
    commandId,
    commandType,
    requestHash,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(userAgentHash === undefined ? {} : { userAgentHash }),
    ...(comment === undefined ? {} : { comment }),
  };
}

async function sealed(event: DomainEvent, stream: string, seal: Seal): Promise<DomainEvent> {
  const { type } = event;
  let result: Readonly<Record<string, unknown>> = event;
  if (sealedDocuments[type] && result['secrets']) {
    const secrets = result['secrets'] as readonly DocumentSecret[];
    result = { ...result, secrets: await Promise.all(secrets.map((one) => sealedAt(one, { stream, type }, seal))) };
  }
  for (const path of sealedFields[type] ?? []) {
    const secret = result[path] as Secret | undefined;
    if (secret && 'clear' in secret) {
      result = { ...result, [path]: await seal(secret.clear, { stream, type, path }, secret.kid) };
    }
  }
  return result as DomainEvent;
}

async function sealedAt(
  { pointer, secret }: DocumentSecret,
  place: { readonly stream: string; readonly type: string },
  seal: Seal,
): Promise<DocumentSecret> {
  if (!('clear' in secret)) throw new Error(`the secret at ${pointer} is sealed for another event`);
  const { clear, kid, isNew } = secret;
  return { pointer, secret: await seal(clear, { ...place, path: sealedPath(pointer) }, kid, isNew) };
}
