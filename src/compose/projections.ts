/** Every projection that a management node keeps. */
import type { Capabilities } from '../../domain/event-store.ts';
import { apiCatalog } from '../../projections/api-catalog.ts';
import { certificateList } from '../../projections/certificate-list.ts';
import { commandsProjection } from '../../projections/commands.ts';
import { gatewayConfig } from '../../projections/gateway-config.ts';
import { historyProjection } from '../../projections/history.ts';
import { keysProjection } from '../../projections/keys.ts';
import { nodesProjection } from '../../projections/nodes.ts';
import { organisationsProjection } from '../../projections/organisations.ts';
import { policiesProjection } from '../../projections/policies.ts';
import type { Projection } from '../../projections/projection.ts';
import { tokensProjection } from '../../projections/tokens.ts';
import { webhooksProjection } from '../../projections/webhooks.ts';

/** Commands are looked up where the engine itself does not know them. */
export const projectionsFor = ({ commandRecord }: Pick<Capabilities, 'commandRecord'>): readonly Projection[] => [
  ...[apiCatalog, certificateList, historyProjection, gatewayConfig, nodesProjection, tokensProjection],
  ...[keysProjection, policiesProjection, organisationsProjection, webhooksProjection],
  ...(commandRecord ? [] : [commandsProjection]),
];
