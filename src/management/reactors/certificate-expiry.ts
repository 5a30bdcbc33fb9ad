/** Writes into the log that certificates end soon or have ended, once for each use of them and threshold (management design 7.6). */
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { certificate, dueRemark, endOf, unnotedUses } from '../../../domain/certificate.ts';
import type { CertificateUse } from '../../../domain/certificate-use.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { certStream, toApiId } from '../../../domain/ids.ts';
import type { Lease } from '../../../domain/lease.ts';
import type { Log } from '../../../gateway/ports.ts';
import { type CertificateEntry, certificatesAfter } from '../../../projections/certificate-list.ts';
import { apisUsing } from '../../../projections/certificate-uses.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import type { Projector } from '../../../projections/runner/projector.ts';
import type { Command, Commands } from '../handle-command.ts';
import { expectedOf, loadCertificate } from '../load.ts';
import { systemContext } from '../system-context.ts';

export type CertificateExpiryOptions = {
  readonly store: EventStore;
  readonly models: DocumentReader;
  readonly projector: Pick<Projector, 'waitFor'>;
  readonly commands: Commands;
  /** One node looks at a time; what is written once is in the log, so that two write it once all the same. */
  readonly lease: Lease;
  /** `management.cert_expiry_days`. */
  readonly thresholds: readonly number[];
  readonly log: Log;
  readonly now: () => Date;
  /** Between two looks. Default ten minutes. */
  readonly everyMs?: number;
  /** After a look that could not be. Default five seconds. */
  readonly retryMs?: number;
};

export interface CertificateExpiry {
  /**
   * Looks once, as the timer does; answers how many events it wrote. Undefined when the read models are behind the log:
   * what they do not show yet may have been told already, or be used by an API that they do not know.
   */
  look(): Promise<number | undefined>;
  stop(): Promise<void>;
}

export function startCertificateExpiry(options: CertificateExpiryOptions): CertificateExpiry {
  const { log, lease, everyMs = 600_000, retryMs = 5_000 } = options;
  const ending = new AbortController();
  const { signal } = ending;
  const lookOnce = async (): Promise<number | undefined> => {
    if ((await lease.hold()) === undefined) return 0;
    if (!(await isAtHead(options))) return undefined;
    return lookAtAll(options, signal);
  };
  // One after the other: a lease is held by one look at a time.
  let before: Promise<unknown> = Promise.resolve();
  const look = (): Promise<number | undefined> => {
    const mine = before.then(lookOnce);
    before = mine.catch(() => undefined);
    return mine;
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const written = await look().catch((error: unknown) => {
        log.warn('the ends of certificates cannot be looked at now', { reason: String(error) });
        return undefined;
      });
      await delay(written === undefined ? retryMs : everyMs, undefined, { signal }).catch(() => undefined);
    }
    await lease.release().catch(() => undefined);
  };
  const running = run();
  return {
    look,
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}

const waitMs = 2_000;

const isAtHead = async ({ store, projector }: CertificateExpiryOptions): Promise<boolean> =>
  projector.waitFor(['certs', 'apis'], await store.head(), waitMs);

const pageEntries = 200;

async function lookAtAll(options: CertificateExpiryOptions, signal: AbortSignal): Promise<number> {
  let written = 0;
  for (let after = ''; !signal.aborted; ) {
    const page = certificatesAfter(options.models, after, pageEntries);
    for (const entry of page) {
      if (signal.aborted) return written;
      written += await remarkOn(options, entry);
    }
    const last = page.at(-1);
    if (!last || page.length < pageEntries) return written;
    after = last.createdPosition;
    // Thousands of certificates must not keep the process from answering.
    await setImmediate();
  }
  return written;
}

async function remarkOn(options: CertificateExpiryOptions, entry: CertificateEntry): Promise<number> {
  const { models, commands, store, log, thresholds, now } = options;
  const { orgId, certId, facts, noted, name } = entry;
  const end = endOf(facts);
  const due = end === undefined ? undefined : dueRemark(end, now().getTime(), thresholds);
  if (due === undefined) return 0;
  const uses = usesOf(models, entry);
  const untold = unnotedUses(uses, due, noted).length;
  if (untold === 0) return 0;
  await commands.run(systemContext(orgId, 'certificate-expiry'), noteEnd(store, entry, due, uses));
  const fields = { certId, name, subject: facts.subjectCn, notAfter: facts.notAfter, uses: uses.length };
  if (due === 0) log.warn('a certificate has ended', fields);
  else log.warn('a certificate ends soon', { ...fields, days: due });
  return untold;
}

const usesOf = (models: DocumentReader, { orgId, certId }: CertificateEntry): readonly CertificateUse[] =>
  apisUsing(models, orgId, certId).flatMap(({ api_id, usage_type }) =>
    usage_type.map((role) => ({ role, apiId: toApiId(api_id) })),
  );

/** Decided on the certificate's own events: what another node wrote meanwhile is not written again. */
const noteEnd = (
  store: EventStore,
  { orgId, certId, facts }: CertificateEntry,
  due: number,
  uses: readonly CertificateUse[],
): Command => ({
  type: 'NoteCertificateEnd',
  aggregate: `certificates of ${orgId}`,
  plan: async () => {
    const loaded = await loadCertificate(store, certId);
    const { notAfter } = facts;
    const events = certificate.decide({ type: 'NoteCertificateEnd', orgId, certId, notAfter, due, uses }, loaded.state);
    return { writes: [{ stream: certStream(certId), expected: expectedOf(loaded), events }], reply: { status: 204 } };
  },
});
