/** What management knows of tokens, put together: the roles, who a text belongs to, last uses, and how bodies are read. */

import type { Roles } from '../roles.ts';
import { createTokenBodies, type TokenBodies } from './bodies.ts';
import { createTokenDirectory, type TokenDirectory, type TokenDirectoryOptions } from './directory.ts';
import { createTokenUse, type TokenUse, type TokenUseOptions } from './use.ts';

export type Tokens = {
  readonly roles: Roles;
  readonly directory: TokenDirectory;
  readonly use: TokenUse;
  readonly bodies: TokenBodies;
};

export const createTokens = (options: TokenDirectoryOptions & TokenUseOptions): Tokens => ({
  roles: options.roles,
  directory: createTokenDirectory(options),
  use: createTokenUse(options),
  bodies: createTokenBodies(options.roles),
});
