/** The id that a version inside a definition gets as an API of its own, when none is given: the same each time. */
import { createHash } from 'node:crypto';
import { type ApiId, toApiId } from '../../../domain/ids.ts';

export const versionId = (apiId: string, version: string): ApiId =>
  toApiId(createHash('sha256').update(`version\n${apiId}\n${version}`).digest('hex').slice(0, 32));
