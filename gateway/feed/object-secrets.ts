/** Which secrets of its objects a gateway opens, and for which stream they were sealed: the same answer on both sides of the feed. */
import type { SealedSecrets } from '../../domain/document-secrets.ts';
import { apiStream, toApiId, toWebhookId, webhookStream } from '../../domain/ids.ts';
import type { ApiObject, GatewayObject, WebhookObject } from '../../projections/gateway-snapshot.ts';

/** Objects whose secrets gateways need. Those of access keys belong to schemes that they do not run: they stay closed. */
export type OpenedObject = ApiObject | WebhookObject;

const isOpened = (object: GatewayObject): object is OpenedObject => object.kind === 'api' || object.kind === 'webhook';

export const secretsOf = (object: GatewayObject): SealedSecrets | undefined =>
  isOpened(object) ? object.body.sealed : undefined;

/** Their places, where the secrets themselves did not come with the object. */
export const withheldOf = (object: GatewayObject): readonly string[] =>
  isOpened(object) ? (object.body.withheld ?? []) : [];

export const streamOf = ({ kind, id }: GatewayObject): string =>
  kind === 'webhook' ? webhookStream(toWebhookId(id)) : apiStream(toApiId(id));
