/** The fleet: every gateway that registered, and the configuration that it applied last. Last-seen times are no history. */
import type { Recorded } from '../domain/event.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { AppliedConfig, NodeIdentity } from '../domain/gateway-node.ts';
import type { NodeId, OrgId } from '../domain/ids.ts';
import type { Projection } from './projection.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

/** A node as the log knows it; without `applied` it never had a configuration. */
export type RegisteredNode = Omit<NodeIdentity, 'publicKey'> & {
  readonly nodeId: NodeId;
  readonly orgId: OrgId;
  readonly registeredAt: string;
  readonly key?: NodeKey;
  readonly applied?: Omit<AppliedConfig, 'ms'> & { readonly at: string };
};

/** What secrets are sealed for. `before`: the one that it took the place of. */
export type NodeKey = {
  readonly publicKey: string;
  readonly since: string;
  readonly before?: string;
};

const nodes = 'nodes';

export const nodesProjection: Projection = {
  name: 'nodes',
  version: 2,
  collections: [nodes],
  filter: { categories: ['gwnode'] },
  onPoison: 'park-by-stream',
  apply,
};

function apply({ event, at }: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[] {
  switch (event.type) {
    case 'GatewayRegistered': {
      const { nodeId, orgId, group, tags, version, publicKey } = event;
      const before = nodeOf(documents, nodeId);
      const key = keyAfter(before?.key, publicKey, at.toISOString());
      return [
        put({
          registeredAt: at.toISOString(),
          ...before,
          nodeId,
          orgId,
          group,
          tags,
          version,
          ...(key ? { key } : {}),
        }),
      ];
    }
    case 'GatewayConfigApplied': {
      const { nodeId, position, revision, snapshotSha256, errors } = event;
      const before = nodeOf(documents, nodeId);
      // The registration went with old events of the stream; it is said again soon.
      if (!before) return [];
      return [put({ ...before, applied: { position, revision, snapshotSha256, errors, at: at.toISOString() } })];
    }
    case 'GatewayDeregistered':
      return [{ op: 'remove', collection: nodes, id: event.nodeId }];
    // The filter lets no other event through.
    default:
      return [];
  }
}

/** A registration that is said again changes nothing. */
function keyAfter(known: NodeKey | undefined, publicKey: string | undefined, at: string): NodeKey | undefined {
  if (publicKey === undefined || publicKey === known?.publicKey) return known;
  return { publicKey, since: at, ...(known ? { before: known.publicKey } : {}) };
}

const put = (node: RegisteredNode): DocumentChange => ({
  op: 'put',
  collection: nodes,
  document: { id: node.nodeId, sort: node.nodeId, labels: [`org:${node.orgId}`], body: node },
});

export const nodeOf = (documents: DocumentReader, nodeId: NodeId): RegisteredNode | undefined =>
  documents.get(nodes, nodeId)?.body as RegisteredNode | undefined;

/** In the order of their names. */
export function listNodes(documents: DocumentReader, orgId: OrgId): readonly RegisteredNode[] {
  const labels = [`org:${orgId}`];
  const found = documents.list(nodes, { labels, limit: documents.count(nodes, labels) });
  return found.map(({ body }) => body as RegisteredNode);
}
