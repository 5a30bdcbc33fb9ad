/** Certificates: public part in clear, private key sealed. Events first, then commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { certificateUnknown } from './errors.ts';
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
  | { readonly type: 'DeleteCertificate'; readonly orgId: OrgId; readonly certId: CertId }
  | {
      readonly type: 'ShredCertificateKey';
      readonly orgId: OrgId;
      readonly certId: CertId;
      readonly kid: string;
      readonly reason: ShredReason;
    };

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
    } & Doomed);

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
      return secret.secret && !state.hasPrivate
        ? [{ type: 'CertificateKeyAttached', orgId, certId, secret: secret.secret }]
        : [];
    }
    case 'DeleteCertificate': {
      if (!state.exists) throw certificateUnknown();
      return [{ type: 'CertificateDeleted', orgId, certId }];
    }
    case 'ShredCertificateKey': {
      const { kid, reason } = command;
      const isHeld = state.doomed.includes(kid) || (state.exists && state.kid === kid);
      return isHeld ? [{ type: 'CertificateKeyShredded', orgId, certId, kid, reason }] : [];
    }
    default:
      return never(command);
  }
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
      return { exists: true, chain: event.chain, hasPrivate, ...kept, doomed: without(doomed, kept.kid) };
    }
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
