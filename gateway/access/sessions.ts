/** Finds the session of an access key in the configuration of the moment. A session is made when its key is first used, and again when the key or a policy that it names has changed. */
import { hash } from 'node:crypto';
import { effectiveSession, type NamedPolicy } from '../../domain/access-session.ts';
import type { OrgId } from '../../domain/ids.ts';
import { isObject, texts } from '../../domain/json.ts';
import type { ShapeCheck } from '../../domain/json-schema.ts';
import {
  type GatewaySnapshot,
  type KeyObject,
  objectKey,
  type PolicyObject,
} from '../../projections/gateway-snapshot.ts';
import type { Log } from '../ports.ts';
import { KeyTable } from './key-table.ts';
import { createDocumentCheck, readSession } from './read-session.ts';
import type { KeySession } from './session.ts';

/** What of a configuration decides about keys. Policies stand among the other objects. */
type Access = { readonly keys: KeyTable; readonly objects: GatewaySnapshot['objects'] };

/** `policies`: where they stand in the configuration, and what stood there when the session was made. */
type Made = {
  readonly session: KeySession | undefined;
  readonly policies: readonly (readonly [place: string, object: PolicyObject | undefined])[];
};

export class Sessions {
  readonly #log: Log;
  readonly #check: ShapeCheck = createDocumentCheck();
  #access: Access = { keys: KeyTable.of([]), objects: {} };
  /** By the object, which another one replaces when the key changes: a swap costs nothing, however many keys there are. */
  readonly #made = new WeakMap<KeyObject, Made>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** From here on the keys and policies of this configuration count, and no others. */
  swap(access: Access): void {
    this.#access = access;
  }

  /** Undefined: the organisation has no such key, or it cannot be read. */
  find(credential: string, orgId: OrgId): KeySession | undefined {
    return this.current({ keyId: hash('sha256', credential, 'hex'), orgId });
  }

  /** The same for a key that is known already. */
  current({ keyId, orgId }: Pick<KeySession, 'keyId' | 'orgId'>): KeySession | undefined {
    const object = this.#access.keys.get(keyId);
    if (object?.body.orgId !== orgId) return undefined;
    const known = this.#made.get(object);
    if (known && this.#isCurrent(known)) return known.session;
    const made = this.#make(object);
    this.#made.set(object, made);
    return made.session;
  }

  #isCurrent({ policies }: Made): boolean {
    for (const [place, object] of policies) if (this.#policyAt(place) !== object) return false;
    return true;
  }

  #policyAt(place: string): PolicyObject | undefined {
    const object = this.#access.objects[place];
    return object?.kind === 'policy' ? object : undefined;
  }

  #make(object: KeyObject): Made {
    const { id, body } = object;
    const names = texts(body.document['apply_policies']);
    const policies = names.map((name) => {
      const place = objectKey('policy', name);
      return [place, this.#policyAt(place)] as const;
    });
    const named = policies.map(([, policy], index) => {
      const document = policy?.body.orgId === body.orgId ? policy.body.document : undefined;
      return { id: names[index] ?? '', document };
    });
    return { session: this.#read(id, body, named), policies };
  }

  /** A password is no key: a basic user is found by the scheme of his own (api-definition design 9.8). */
  #read(keyId: string, { orgId, createdAt, document, quota }: KeyObject['body'], named: readonly NamedPolicy[]) {
    if (isObject(document['basic_auth_data'])) return undefined;
    const broken = [{ id: keyId, document }, ...named].find(
      (part) => part.document !== undefined && this.#check(part.document).length > 0,
    );
    if (broken) {
      const part = broken.id === keyId ? {} : { policyId: broken.id };
      this.#log.error('an access key cannot be read and lets nobody in', { keyId, ...part });
      return undefined;
    }
    const effective = effectiveSession(document, named, Date.parse(createdAt));
    return readSession({ keyId, orgId, ...(quota ? { quota } : {}) }, effective);
  }
}
