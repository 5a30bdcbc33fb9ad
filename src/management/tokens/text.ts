/** The text of a token: how it is made, what is kept of it, and whether a text that comes is the one that was kept. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type TokenId, toTokenId } from '../../../domain/ids.ts';
import type { TokenHash } from '../../../domain/token.ts';

/** `svct_<id>_<32 bytes>`: the id finds what is known of the token, the rest proves it. */
const pattern = /^svct_([a-z0-9][a-z0-9-]{0,62})_[A-Za-z0-9_-]{43}$/;

/** 80 bits: nobody guesses which tokens there are. */
export const newTokenId = (): TokenId => toTokenId(randomBytes(10).toString('hex'));

export const newTokenText = (tokenId: TokenId): string => `svct_${tokenId}_${randomBytes(32).toString('base64url')}`;

/** The id that a text names; undefined for a text of another form. */
export const tokenIdIn = (text: string): TokenId | undefined => {
  const [, id] = pattern.exec(text) ?? [];
  return id === undefined ? undefined : toTokenId(id);
};

/** Of the random part, for people. */
const shownCharacters = 4;

/** What may be stored. Of a text that somebody made up, nothing is shown. */
export function keptOf(text: string): TokenHash {
  const salt = randomBytes(16).toString('base64url');
  const id = tokenIdIn(text);
  const prefix = id === undefined ? '' : text.slice(0, `svct_${id}_`.length + shownCharacters);
  return { hash: digest(text, salt).toString('base64url'), salt, prefix };
}

/** Takes the same time whether they differ early, late or not at all. */
export const isText = (text: string, { hash, salt }: Pick<TokenHash, 'hash' | 'salt'>): boolean => {
  const kept = Buffer.from(hash, 'base64url');
  const given = digest(text, salt);
  return kept.byteLength === given.byteLength && timingSafeEqual(kept, given);
};

const digest = (text: string, salt: string): Buffer =>
  createHash('sha256').update(Buffer.from(salt, 'base64url')).update(text).digest();

/** What a text is compared with when there is nothing to compare it with. */
export const noToken: Pick<TokenHash, 'hash' | 'salt'> = { hash: 'A'.repeat(43), salt: 'A'.repeat(22) };
