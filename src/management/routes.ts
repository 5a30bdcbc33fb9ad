/** The table of all routes; where two fit, the first one counts. */
import type { Route } from './route.ts';
import { apiAtRoutes } from './routes/api-at.ts';
import { apiCacheRoutes } from './routes/api-cache.ts';
import { applyRoutes } from './routes/apply.ts';
import { auditRoutes } from './routes/audit.ts';
import { auditEntryRoutes } from './routes/audit-entry.ts';
import { auditTrailRoutes } from './routes/audit-trail.ts';
import { catalogueRoutes } from './routes/catalogue.ts';
import { certificateChangeRoutes } from './routes/certificate-changes.ts';
import { certificateRoutes } from './routes/certificates.ts';
import { chainRoutes } from './routes/chain.ts';
import { classicRoutes } from './routes/classic.ts';
import { configRoutes } from './routes/config.ts';
import { definitionExportRoutes } from './routes/definition-export.ts';
import { definitionImportRoutes } from './routes/definition-import.ts';
import { definitionRoutes } from './routes/definitions.ts';
import { docsRoutes } from './routes/docs.ts';
import { feedRoutes } from './routes/feed.ts';
import { gatewayRoutes } from './routes/gateways.ts';
import { keyRoutes } from './routes/keys.ts';
import { metaRoutes } from './routes/meta.ts';
import { organisationRoutes } from './routes/organisations.ts';
import { policyRoutes } from './routes/policies.ts';
import { projectionRoutes } from './routes/projections.ts';
import { reloadRoutes } from './routes/reload.ts';
import { revisionRoutes } from './routes/revisions.ts';
import { rolloutRoutes } from './routes/rollout.ts';
import { schemaRoutes } from './routes/schemas.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { versionRoutes } from './routes/versions.ts';
import { webhookDeliveryRoutes } from './routes/webhook-deliveries.ts';
import { webhookRoutes } from './routes/webhooks.ts';

export const routes: readonly Route[] = [
  ...definitionRoutes,
  ...definitionImportRoutes,
  ...definitionExportRoutes,
  ...catalogueRoutes,
  ...classicRoutes,
  ...versionRoutes,
  ...revisionRoutes,
  ...apiAtRoutes,
  ...apiCacheRoutes,
  ...chainRoutes,
  ...certificateRoutes,
  ...certificateChangeRoutes,
  ...configRoutes,
  ...applyRoutes,
  ...auditRoutes,
  ...auditTrailRoutes,
  ...auditEntryRoutes,
  ...keyRoutes,
  ...policyRoutes,
  ...webhookRoutes,
  ...webhookDeliveryRoutes,
  ...tokenRoutes,
  ...organisationRoutes,
  ...reloadRoutes,
  ...gatewayRoutes,
  ...rolloutRoutes,
  ...feedRoutes,
  ...projectionRoutes,
  ...schemaRoutes,
  ...metaRoutes,
  ...docsRoutes,
];
