/** A definition as those see it who may only know its interface: without extensions and secrets. */

import { type ApiDocument, gatewayExtension, streamingExtension } from '../../../domain/api/definition.ts';
import { findApiSecrets } from '../../../domain/api/secret-fields.ts';
import { withoutSecrets } from '../../../domain/document-secrets.ts';
import { withoutMember } from '../../../domain/json.ts';
import { pointerOf } from '../../../domain/secret-places.ts';
import { type Call, wordParameter } from '../call.ts';

/** `mode=public`; any other word is a 400. */
export const isPublic = (call: Call): boolean => wordParameter(call, 'mode', ['public']) === 'public';

export function publicDocument(document: ApiDocument): ApiDocument {
  const open = withoutMember(withoutMember(document, gatewayExtension), streamingExtension);
  return withoutSecrets(
    open,
    findApiSecrets(open).map(({ path }) => pointerOf(path)),
  );
}
