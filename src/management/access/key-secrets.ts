/** Secrets in the document of a key: a password becomes what was made of it, and signatures get a secret when they have none. */
import { randomBytes, scrypt } from 'node:crypto';
import { keyInvalid } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { type KeyHash, type OrgId, toKeyHash } from '../../../domain/ids.ts';
import { objectAt, textAt } from '../../../domain/json.ts';
import { mask } from '../../../domain/secret-places.ts';
import { sha256Hex } from '../derived-fields.ts';

export type SettledKey = {
  readonly document: JsonObject;
  /** A secret for signatures that was made here: told once. */
  readonly generated?: string;
};

/** The stream of a basic user: one name, one user in each organisation. */
export const basicUserHash = (orgId: OrgId, user: string): KeyHash => toKeyHash(sha256Hex(`basic\n${orgId}\n${user}`));

export const userOf = (document: JsonObject): string | undefined => textAt(document, 'basic_auth_data', 'user');

/** `before`: what a mask, or a password that is left out, goes on with. */
export async function settleKeySecrets(document: JsonObject, before: JsonObject = {}): Promise<SettledKey> {
  const user = userOf(document);
  if (userOf(before) !== undefined && user !== userOf(before)) {
    throw refused('/basic_auth_data/user', 'is the name of the user and does not change; create another one');
  }
  if (user !== undefined && userOf(before) === undefined && Object.keys(before).length > 0) {
    throw refused('/basic_auth_data', 'makes a user, which a key does not become; create one');
  }
  const basic = user === undefined ? {} : { basic_auth_data: await basicData(document, before) };
  const isSigning = document['hmac_enabled'] === true || document['enable_http_signature_validation'] === true;
  const isLacking = isSigning && document['hmac_string'] === undefined && document['rsa_certificate_id'] === undefined;
  // Left out is not taken away: callers that sign with it would all be refused.
  const isHeld = before['hmac_string'] !== undefined;
  const generated = isLacking && !isHeld ? randomBytes(32).toString('base64url') : undefined;
  const signing = isLacking ? { hmac_string: generated ?? mask } : {};
  return { document: { ...document, ...basic, ...signing }, ...(generated === undefined ? {} : { generated }) };
}

const refused = (pointer: string, message: string): Error => keyInvalid([{ pointer, code: 'secret', message }]);

async function basicData(document: JsonObject, before: JsonObject): Promise<JsonObject> {
  const { user = '', password, hash_type: type } = objectAt(document, 'basic_auth_data') ?? {};
  if (password === undefined || password === mask) {
    const held = objectAt(before, 'basic_auth_data');
    if (held?.['password_hash'] !== mask) throw refused('/basic_auth_data/password', 'is required');
    return { user, hash_type: held['hash_type'] ?? 'scrypt', password_hash: mask };
  }
  const text = String(password);
  const ready = typeof type === 'string' ? readyHashes[type] : undefined;
  if (ready?.form.test(text)) {
    if (!ready.isStrong(text)) throw refused('/basic_auth_data/password', `is a hash of another cost: ${ready.cost}`);
    return { user, hash_type: String(type), password_hash: text };
  }
  return { user, hash_type: 'scrypt', password_hash: await scryptHash(text) };
}

type ReadyHash = { readonly form: RegExp; readonly cost: string; readonly isStrong: (text: string) => boolean };

/** Hashes that come ready: costly enough to keep, and not so costly that comparing one holds a gateway up. */
const readyHashes: Readonly<Record<string, ReadyHash>> = {
  bcrypt: {
    form: /^\$2[aby]\$\d{2}\$[./A-Za-z0-9]{53}$/,
    cost: 'bcrypt takes 10 to 14',
    isStrong: (text) => Number(text.slice(4, 6)) >= 10 && Number(text.slice(4, 6)) <= 14,
  },
  scrypt: {
    form: /^\$scrypt\$ln=\d{1,2},r=\d{1,2},p=\d{1,2}\$[A-Za-z0-9+/]{16,88}\$[A-Za-z0-9+/]{43,88}$/,
    cost: 'scrypt takes ln from 14 to 17, r 8, p from 1 to 4',
    isStrong: (text) => /^\$scrypt\$ln=1[4-7],r=8,p=[1-4]\$/.test(text),
  },
};

const logCost = 15;
const blockSize = 8;
const saltBytes = 16;
const hashBytes = 32;

/** PHC form: `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`, base64 without padding. */
function scryptHash(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const cost = { N: 2 ** logCost, r: blockSize, p: 1, maxmem: 2 ** logCost * blockSize * 256 };
  const plain = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
  return new Promise((resolve, reject) => {
    scrypt(password, salt, hashBytes, cost, (error, hash) => {
      if (error) reject(error);
      else resolve(`$scrypt$ln=${logCost},r=${blockSize},p=1$${plain(salt)}$${plain(hash)}`);
    });
  });
}
