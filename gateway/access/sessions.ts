/** Finds the session of an access key in the configuration of the moment. A session is made when its key is first used, and again when the key or a policy that it names has changed. */
import { hash } from 'node:crypto';
import { type AppliedPolicies, applyPolicies, sessionWith } from '../../domain/access-session.ts';
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
import { createDocumentCheck, type KnownGrants, readSession } from './read-session.ts';
import type { KeySession } from './session.ts';

/** What of a configuration decides about keys. Policies stand among the other objects. */
type Access = { readonly keys: KeyTable; readonly objects: GatewaySnapshot['objects'] };

/** Where policies stand in the configuration, and what stood there. */
type Places = readonly (readonly [place: string, object: PolicyObject | undefined])[];

type Made = { readonly session: KeySession | undefined; readonly policies: Places };

/** What several policies come to; `broken`: the id of one that cannot be read. */
type Mix = { readonly policies: Places; readonly applied: AppliedPolicies; readonly broken: string | undefined };

/** Most keys name the same few. */
const maxMixes = 1_000;

export class Sessions {
  readonly #log: Log;
  readonly #check: ShapeCheck = createDocumentCheck();
  #access: Access = { keys: KeyTable.of([]), objects: {} };
  /** By the object, which another one replaces when the key changes: a swap costs nothing, however many keys there are. */
  readonly #made = new WeakMap<KeyObject, Made>();
  /** By organisation and the ids of the policies; good for as long as none of them changes. */
  readonly #mixes = new Map<string, Mix>();
  readonly #grants: KnownGrants = new WeakMap();

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

  #isCurrent({ policies }: Pick<Made, 'policies'>): boolean {
    for (const [place, object] of policies) if (this.#policyAt(place) !== object) return false;
    return true;
  }

  #policyAt(place: string): PolicyObject | undefined {
    const object = this.#access.objects[place];
    return object?.kind === 'policy' ? object : undefined;
  }

  #make(object: KeyObject): Made {
    const { id, body } = object;
    const mix = this.#mixOf(body.orgId, texts(body.document['apply_policies']));
    return { session: this.#read(id, body, mix), policies: mix.policies };
  }

  #mixOf(orgId: OrgId, names: readonly string[]): Mix {
    const name = [orgId, ...names].join('\n');
    const known = this.#mixes.get(name);
    if (known && this.#isCurrent(known)) return known;
    const policies = names.map((id) => {
      const place = objectKey('policy', id);
      return [place, this.#policyAt(place)] as const;
    });
    const named = policies.map(([, policy], index) => ({
      id: names[index] ?? '',
      document: policy?.body.orgId === orgId ? policy.body.document : undefined,
    }));
    const broken = named.find(({ document }) => document !== undefined && this.#check(document).length > 0)?.id;
    const mix = { policies, applied: applyPolicies(broken === undefined ? named : []), broken };
    if (this.#mixes.size >= maxMixes) this.#mixes.clear();
    this.#mixes.set(name, mix);
    return mix;
  }

  /** A password is no key: a basic user is found by the scheme of his own (api-definition design 9.8). */
  #read(keyId: string, { orgId, createdAt, document, quota }: KeyObject['body'], { applied, broken }: Mix) {
    if (isObject(document['basic_auth_data'])) return undefined;
    const isBroken = this.#check(document).length > 0;
    if (isBroken || broken !== undefined) {
      const part = isBroken ? {} : { policyId: broken };
      this.#log.error('an access key cannot be read and lets nobody in', { keyId, ...part });
      return undefined;
    }
    const effective = sessionWith(document, applied, Date.parse(createdAt));
    return readSession({ keyId, orgId, ...(quota ? { quota } : {}) }, effective, this.#grants);
  }
}
