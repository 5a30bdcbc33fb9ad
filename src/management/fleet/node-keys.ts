/** Whose secrets a request may get: those of the gateway that its token belongs to, sealed for the key that this one registered. */
import type { EventStore } from '../../../domain/event-store.ts';
import { type NodeId, toNodeId } from '../../../domain/ids.ts';
import { coversNode } from '../../../domain/token.ts';
import { readNodeKey } from '../../../gateway/feed/node-box.ts';
import { nodeOf } from '../../../projections/nodes.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import type { Projector } from '../../../projections/runner/projector.ts';
import type { Caller } from '../authenticate.ts';
import type { Call } from '../call.ts';
import { awaitPosition } from '../conditional.ts';
import { Rejection } from '../errors.ts';

/** A gateway and its key. */
export type Recipient = { readonly node: NodeId; readonly publicKey: string };

/** Where it is found out which key a gateway registered. */
type Knowing = {
  readonly models: ReadModelStore;
  readonly projector: Pick<Projector, 'waitFor'>;
  readonly store: Pick<EventStore, 'head'>;
};

/** Throws 403 when the token belongs to another gateway. */
function demandOwnNode({ node: bound }: Pick<Caller, 'node'>, node: NodeId): void {
  if (bound === undefined || coversNode(bound, node)) return;
  throw new Rejection('node_foreign', `the token belongs to gateway ${bound}, not to ${node}`);
}

/** Throws 403 for a report by somebody else: whoever reports for a gateway takes its name from the process that has it. */
export function demandReporter(caller: Pick<Caller, 'node'>, node: NodeId, { models }: Pick<Knowing, 'models'>): void {
  demandOwnNode(caller, node);
  if (caller.node !== undefined || !nodeOf(models, node)?.key) return;
  const text = `gateway ${node} has a key: only a token that belongs to it reports for it, until it is forgotten`;
  throw new Rejection('node_foreign', text);
}

/** The key that a report brings; only a token of the gateway registers one. Throws 400 for what is none. */
export function registeredKey({ node }: Pick<Caller, 'node'>, publicKey: unknown): { readonly publicKey?: string } {
  if (node === undefined || publicKey === undefined) return {};
  demandKey(String(publicKey), (text, cause) => {
    throw new Rejection('body_malformed', `request malformed: /publicKey ${text}`, { cause });
  });
  return { publicKey: String(publicKey) };
}

function demandKey(text: string, refuse: (text: string, cause: unknown) => never): void {
  try {
    readNodeKey(text);
  } catch (cause) {
    refuse('is no X25519 key that anything can be sealed for', cause);
  }
}

/** Undefined for whoever sees masks: every token that belongs to no gateway. Throws 400 for what is no key, 409 for one that is not registered. */
export async function recipientOf(
  { caller, header }: Call,
  { models, projector, store }: Knowing,
): Promise<Recipient | undefined> {
  const [name, publicKey] = [header('x-svc-node'), header('x-svc-node-key')];
  if (caller.node === undefined || name === undefined || publicKey === undefined) return undefined;
  const node = toNodeId(name);
  demandOwnNode(caller, node);
  demandKey(publicKey, (text, cause) => {
    const form = 'send the 32 bytes of the public key as base64url, as the reports of the gateway do';
    throw new Rejection('node_key_invalid', `the header x-svc-node-key ${text}: ${form}`, { cause });
  });
  const isRegistered = (): boolean => nodeOf(models, node)?.key?.publicKey === publicKey;
  // The report that brought it may be younger than the read model.
  if (!isRegistered()) await awaitPosition(['nodes'], await store.head(), projector.waitFor);
  if (isRegistered()) return { node, publicKey };
  throw new Rejection('node_key_unknown', `gateway ${node} has not registered this key: its next report does`);
}
