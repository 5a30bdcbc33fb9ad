/** `svc store secrets` where nodes share log and key ring in PostgreSQL: no ring is looked for, or made, in the data folder. */
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { encodeEvent } from '../../domain/events.ts';
import { certStream } from '../../domain/ids.ts';
import { openLog } from '../../src/stores/open.ts';
import { masterKeyFile } from '../../src/stores/secrets/master-key.ts';
import { openPostgresKeyRing } from '../../src/stores/secrets/postgres-keyring.ts';
import { svc } from '../support/cli.ts';
import { certIdOf, certificateImported } from '../support/given.ts';
import { dropSchema, sharedPostgres, withNewSchema } from '../support/postgres-log.ts';
import { needsPostgres } from '../support/postgres-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('svc store secrets on PostgreSQL', function () {
  this.timeout(30_000);
  before(function () {
    needsPostgres(this);
  });

  it('shows, rotates and shreds the ring that the nodes share', async () => {
    using folder = temporaryFolder('svc-secrets-postgres-');
    const { url, schema } = withNewSchema(await sharedPostgres());
    const secrets = (...args: readonly string[]) =>
      svc(['store', 'secrets', ...args, '--data', folder.path], { env: { SVC_STORE_URL: url } });
    const ring = await openPostgresKeyRing({ url, masters: masterKeyFile(folder.file('master.key')) });
    const log = await openLog(url);
    try {
      const place = { stream: certStream(certIdOf('a')), type: 'CertificateImported', path: 'secret' };
      const sealed = await ring.seal('made up', place);
      const events = [encodeEvent(certificateImported('a', { hasKey: true, kid: sealed.kid }), randomUUID(), {})];
      const writes = [{ stream: place.stream, expected: 'noStream' as const, events }];
      await log.store.append(writes, { commandId: randomUUID(), timeoutMs: 5_000 });

      expect((await secrets('status')).out)
        .to.contain(`${sealed.kid}\t`)
        .and.contain(`certificate\t${certIdOf('a')}`);
      expect(JSON.parse((await secrets('rotate', '--json')).out)).to.include({ rewrapped: 1 });
      expect(await ring.open(sealed, place)).to.equal('made up');
      expect((await secrets('shred', sealed.kid, '--yes')).code).to.equal(0);
      expect(await ring.has(sealed.kid)).to.equal(false);
      const [last] = await log.store.readStream(place.stream, { back: true, limit: 1 });
      expect(last?.type).to.equal('CertificateKeyShredded');
      expect(readdirSync(folder.path)).to.deep.equal(['master.key']);
    } finally {
      await ring.close();
      await log.close();
      await dropSchema(schema);
    }
  });
});
