/** Which members of which event types are secret. The codec refuses to write one of them in clear. */
import { findApiSecrets } from './api/secret-fields.ts';
import { findKeySecrets } from './key.ts';
import type { FindSecrets } from './secret-places.ts';
import { findWebhookSecrets } from './webhook.ts';

/** Paths from the event, by type. */
export const sealedFields: Readonly<Record<string, readonly string[]>> = {
  CertificateImported: ['secret'],
  CertificateKeyAttached: ['secret'],
};

/** Events with a document, whose secrets stand beside it in `secrets`: where they stood. */
export const sealedDocuments: Readonly<Record<string, FindSecrets>> = {
  ApiDefinitionCreated: findApiSecrets,
  ApiDefinitionImported: findApiSecrets,
  ApiDefinitionPatched: findApiSecrets,
  ApiDefinitionReplaced: findApiSecrets,
  ApiDefinitionRolledBack: findApiSecrets,
  KeyCreated: findKeySecrets,
  KeyUpdated: findKeySecrets,
  KeyDisabled: findKeySecrets,
  WebhookCreated: findWebhookSecrets,
  WebhookUpdated: findWebhookSecrets,
};
