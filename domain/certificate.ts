/** Certificates: public part in clear, private key sealed. Events first, then commands, state, decide, evolve. */
import type { CertificateUse } from './certificate-use.ts';
import type { Decider } from './decider.ts';
import { certificateInUse, certificateUnknown } from './errors.ts';
import { never, type Secret } from './event.ts';
import type { CertId, OrgId } from './ids.ts';

/** The parts of a subject or issuer, each in the order of the certificate; the last one when only one may be. */
export type DistinguishedName = {
  readonly commonName: string;
  readonly serialNumber: string;
  readonly country: readonly string[];
  readonly organization: readonly string[];
  readonly organizationalUnit: readonly string[];
  readonly locality: readonly string[];
  readonly province: readonly string[];
  readonly streetAddress: readonly string[];
  readonly postalCode: readonly string[];
};

/** Facts read from the certificate when it came in; times RFC 3339 UTC in seconds. */
export type CertificateFacts = {
  readonly subjectCn: string;
  readonly issuerCn: string;
  /** DNS names of the subject alternative names only. */
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly notBefore: string;
  readonly notAfter: string;
  readonly isCa: boolean;
  /** Hex. */
  readonly serial: string;
  /** `RSA 2048`, `EC P-256`, `Ed25519`. */
  readonly keyAlg: string;
  readonly signatureAlgorithm: string;
  readonly subject?: DistinguishedName;
  readonly issuer?: DistinguishedName;
  /** Lower-case hex SHA-256 of the DER. */
  readonly fingerprint?: string;
  /** Facts of the certificates of the chain, in its order; on the leaf only. */
  readonly chainFacts?: readonly CertificateFacts[];
};

/** Stands for both times of a public key that came alone: it has none. */
export const zeroTime = '0001-01-01T00:00:00Z';

/** When it ends, ms since 1970; undefined for what has no end. */
export const endOf = ({ notAfter }: CertificateFacts): number | undefined =>
  notAfter === zeroTime ? undefined : Date.parse(notAfter);

/** Names a use among those that were remarked on. */
const useKey = ({ role, apiId }: CertificateUse): string => `${role ?? ''}/${apiId ?? ''}`;

/** Fewest days before the end that were remarked on, by `useKey`; 0: the end itself. */
export type NotedEnds = Readonly<Record<string, number>>;

export type CertificateEvent =
  | {
      readonly type: 'CertificateImported';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly name?: string;
      /** The leaf, PEM. */
      readonly pem: string;
      /** The rest of the chain, leaf to root, PEM. */
      readonly chain: readonly string[];
      readonly parsed: CertificateFacts;
      readonly secret?: Secret;
    }
  | {
      readonly type: 'CertificateKeyAttached';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly secret: Secret;
    }
  | { readonly type: 'CertificateRenamed'; readonly orgId: OrgId; readonly certId: CertId; readonly name: string }
  | ({
      readonly type: 'CertificateExpiringSoon';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly notAfter: string;
      /** The threshold that was passed: at most so many days are left. */
      readonly days: number;
    } & CertificateUse)
  | ({
      readonly type: 'CertificateExpired';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly notAfter: string;
    } & CertificateUse)
  | { readonly type: 'CertificateDeleted'; readonly orgId: OrgId; readonly certId: CertId }
  | {
      /** No event that holds the private key under this data key opens any more. */
      readonly type: 'CertificateKeyShredded';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly kid: string;
      readonly reason: ShredReason;
    };

/** `deleted`: with the certificate. `asked`: by an operator, while the certificate lives on. */
export type ShredReason = 'deleted' | 'asked';

export type CertificateCommand =
  | {
      readonly type: 'ImportCertificate';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly name?: string;
      readonly pem: string;
      readonly chain: readonly string[];
      readonly parsed: CertificateFacts;
      /** PKCS#8 PEM; it fits the leaf, which the reader of the upload has checked. */
      readonly privateKey?: string;
    }
  | {
      readonly type: 'RenameCertificate';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly name: string;
    }
  | ({ readonly type: 'DeleteCertificate'; readonly orgId: OrgId; readonly certId: CertId } & InUse)
  | ({ readonly type: 'DestroyCertificateKey'; readonly orgId: OrgId; readonly certId: CertId } & InUse)
  | {
      readonly type: 'NoteCertificateEnd';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly notAfter: string;
      /** What `dueRemark` says; undefined when nothing is due. */
      readonly due: number | undefined;
      readonly uses: readonly CertificateUse[];
    }
  | {
      readonly type: 'ShredCertificateKey';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly kid: string;
      readonly reason: ShredReason;
    };

/** In words, who would miss it. */
type InUse = { readonly usedBy: readonly string[]; readonly isForced: boolean };

/** `doomed`: data keys of private keys whose certificate was deleted and of which nothing says yet that they are shredded. */
type Doomed = { readonly doomed: readonly string[] };

export type CertificateState =
  | ({ readonly exists: false } & Doomed)
  | ({
      readonly exists: true;
      readonly hasPrivate: boolean;
      /** The data key of the private key. */
      readonly kid?: string;
      readonly chain: readonly string[];
      readonly name: string;
      readonly noted: NotedEnds;
    } & Doomed);

/** An upload without a name keeps the one that is there. */
const renamed = (
  { orgId, certId, name }: Extract<CertificateCommand, { readonly name?: string }>,
  before: string,
): readonly CertificateEvent[] =>
  name === undefined || name === before ? [] : [{ type: 'CertificateRenamed', orgId, certId, name }];

function decide(command: CertificateCommand, state: CertificateState): readonly CertificateEvent[] {
  const { orgId, certId } = command;
  switch (command.type) {
    case 'ImportCertificate': {
      const secret = command.privateKey === undefined ? {} : { secret: { clear: command.privateKey } };
      const { pem, chain, parsed } = command;
      const name = command.name === undefined ? {} : { name: command.name };
      // A new chain is a new import; it must not take away a key that is held, so the key is only named when it is new.
      if (!state.exists || !sameChain(state.chain, chain)) {
        const withKey = state.exists && state.hasPrivate ? {} : secret;
        return [{ type: 'CertificateImported', orgId, certId, ...name, pem, chain, parsed, ...withKey }];
      }
      const attached: readonly CertificateEvent[] =
        secret.secret && !state.hasPrivate
          ? [{ type: 'CertificateKeyAttached', orgId, certId, secret: secret.secret }]
          : [];
      return [...attached, ...renamed(command, state.name)];
    }
    case 'RenameCertificate': {
      if (!state.exists) throw certificateUnknown();
      return renamed(command, state.name);
    }
    case 'DeleteCertificate': {
      if (!state.exists) throw certificateUnknown();
      checkUnused(command);
      return [{ type: 'CertificateDeleted', orgId, certId }];
    }
    case 'DestroyCertificateKey': {
      if (!state.exists) throw certificateUnknown();
      if (state.kid === undefined) return [];
      checkUnused(command);
      return [{ type: 'CertificateKeyShredded', orgId, certId, kid: state.kid, reason: 'asked' }];
    }
    case 'NoteCertificateEnd':
      return state.exists ? remarks(command, state.noted) : [];
    case 'ShredCertificateKey': {
      const { kid, reason } = command;
      const isHeld = state.doomed.includes(kid) || (state.exists && state.kid === kid);
      return isHeld ? [{ type: 'CertificateKeyShredded', orgId, certId, kid, reason }] : [];
    }
    default:
      return never(command);
  }
}

function checkUnused({ usedBy, isForced }: InUse): void {
  if (usedBy.length > 0 && !isForced) throw certificateInUse(usedBy);
}

const dayMs = 24 * 3_600 * 1_000;

/**
 * The threshold in days that was passed last, 0 when the certificate has ended, undefined before the first one: who comes
 * late does not hear of those before. `end` and `now` in ms since 1970.
 */
export function dueRemark(end: number, now: number, thresholds: readonly number[]): number | undefined {
  if (end < now) return 0;
  const passed = thresholds.filter((days) => end - now <= days * dayMs);
  return passed.length === 0 ? undefined : Math.min(...passed);
}

/** The uses of which nobody was told yet that so little is left. */
export function unnotedUses(uses: readonly CertificateUse[], due: number, noted: NotedEnds): readonly CertificateUse[] {
  const all: readonly CertificateUse[] = uses.length > 0 ? uses : [{}];
  return all.filter((use) => (noted[useKey(use)] ?? Number.POSITIVE_INFINITY) > due);
}

function remarks(
  { orgId, certId, notAfter, due, uses }: Extract<CertificateCommand, { type: 'NoteCertificateEnd' }>,
  noted: NotedEnds,
): readonly CertificateEvent[] {
  if (due === undefined) return [];
  return unnotedUses(uses, due, noted).map((use) =>
    due === 0
      ? { type: 'CertificateExpired', orgId, certId, notAfter, ...use }
      : { type: 'CertificateExpiringSoon', orgId, certId, notAfter, days: due, ...use },
  );
}

const sameChain = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((pem, index) => pem === b[index]);

function evolve(state: CertificateState, event: CertificateEvent): CertificateState {
  const { doomed } = state;
  switch (event.type) {
    case 'CertificateImported': {
      const held = state.exists && state.kid !== undefined ? { kid: state.kid } : {};
      const hasPrivate = event.secret !== undefined || (state.exists && state.hasPrivate);
      const kept = { ...held, ...kidOf(event.secret) };
      // A restore may bring a key back before it was shredded.
      const before = state.exists ? state : { name: '', noted: {} };
      const named = { name: event.name ?? before.name, noted: before.noted };
      return { exists: true, chain: event.chain, hasPrivate, ...named, ...kept, doomed: without(doomed, kept.kid) };
    }
    case 'CertificateRenamed':
      return state.exists ? { ...state, name: event.name } : state;
    case 'CertificateExpiringSoon':
    case 'CertificateExpired':
      return state.exists ? { ...state, noted: notedAfter(state.noted, event) } : state;
    case 'CertificateKeyAttached': {
      if (!state.exists) return state;
      const { kid } = event.secret;
      return { ...state, hasPrivate: true, ...kidOf(event.secret), doomed: without(doomed, kid) };
    }
    case 'CertificateDeleted':
      return { exists: false, doomed: state.exists && state.kid !== undefined ? [...doomed, state.kid] : doomed };
    case 'CertificateKeyShredded':
      return withoutKey(state, event.kid);
    default:
      return never(event);
  }
}

type EndEvent = Extract<CertificateEvent, { type: 'CertificateExpiringSoon' | 'CertificateExpired' }>;

export const notedAfter = (noted: NotedEnds, event: EndEvent): NotedEnds => ({
  ...noted,
  [useKey(event)]: event.type === 'CertificateExpired' ? 0 : event.days,
});

const kidOf = (secret: Secret | undefined): { readonly kid?: string } =>
  secret?.kid === undefined ? {} : { kid: secret.kid };

const without = (kids: readonly string[], kid: string | undefined): readonly string[] =>
  kids.filter((other) => other !== kid);

function withoutKey(state: CertificateState, kid: string): CertificateState {
  const doomed = without(state.doomed, kid);
  if (!state.exists || state.kid !== kid) return { ...state, doomed };
  const { kid: _, ...rest } = state;
  return { ...rest, hasPrivate: false, doomed };
}

export const certificate = {
  initial: { exists: false, doomed: [] } as CertificateState,
  decide,
  evolve,
} satisfies Decider<CertificateCommand, CertificateEvent, CertificateState>;
