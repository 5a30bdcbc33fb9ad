/** What is read of a definition in either of its written forms without reading all of it. */
import { at } from '../json.ts';
import { canonicalHead } from './classic/codec.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';
import { tagsIn } from './oas.ts';

/** Labels of the gateways that run it; none while they are switched off. */
export const tagsOf = (document: ApiDocument): readonly string[] => tagsIn(canonicalHead(document));

/** Whether creating or changing a key leaves the quota of the key for this API as it is. */
export const skipsQuotaReset = (document: ApiDocument): boolean =>
  at(canonicalHead(document), gatewayExtension, 'middleware', 'global', 'skipQuotaReset') === true;
