/** The certificate list: given events, then pages, details and single certificates. */
import { expect } from 'chai';
import { Refusal } from '../../../domain/errors.ts';
import { toOrgId } from '../../../domain/ids.ts';
import { apiCatalog } from '../../../projections/api-catalog.ts';
import {
  type CertificateDetails,
  type CertificateQuery,
  certificateList,
  getCertificate,
  type ListedCertificate,
  listCertificates,
  ownCertId,
} from '../../../projections/certificate-list.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import { apiDocument } from '../../support/documents.ts';
import {
  apiCreated,
  certIdOf,
  certificateDeleted,
  certificateFacts,
  certificateImported,
  folded,
  foldInto,
  keyAttached,
  keyShredded,
  org,
  sealed,
} from '../../support/given.ts';

const now = Date.parse('2026-12-30T12:00:00Z');
const page = (models: ReadModelStore, query: CertificateQuery = {}) => listCertificates(models, org, query, now);
const names = (models: ReadModelStore, query: CertificateQuery = {}) =>
  page(models, query).cert_basics.map(({ subject_cn }) => subject_cn);

const basicMembers = [
  ...['id', 'dns_names', 'has_private', 'is_ca', 'issuer_cn', 'subject_cn', 'not_before', 'not_after'],
] as const;

describe('listCertificates', () => {
  it('answers one empty page when there is nothing', () => {
    for (const number of [undefined, 1, 0, -3, 7]) {
      expect(page(folded(certificateList), number === undefined ? {} : { page: number })).to.deep.equal({
        cert_basics: [],
        pages: 1,
      });
    }
  });

  it('shows exactly the documented members', () => {
    const [shown] = page(folded(certificateList, certificateImported('a.example', { hasKey: true }))).cert_basics;
    expect(shown).to.deep.equal({
      id: certIdOf('a.example'),
      dns_names: ['a.example'],
      has_private: true,
      is_ca: false,
      issuer_cn: 'Test CA',
      subject_cn: 'a.example',
      not_before: '2026-01-01T00:00:00Z',
      not_after: '2027-01-01T00:00:00Z',
    });
  });

  it('adds members with mode=detailed and takes none away', () => {
    const models = folded(certificateList, certificateImported('a', { chain: ['CA'], name: 'front door' }));
    const [basic] = page(models).cert_basics;
    const [detailed] = page(models, { mode: 'detailed' }).cert_basics as (ListedCertificate & CertificateDetails)[];
    expect(detailed).to.include.keys(...basicMembers);
    expect(detailed).to.deep.equal({
      ...basic,
      fingerprint: certIdOf('a').slice(org.length),
      name: 'front door',
      serial_number: '01',
      key_type: 'EC P-256',
      signature_algorithm: 'ecdsa-with-SHA256',
      ip_addresses: [],
      days_remaining: 1,
      expired: false,
      chain_length: 2,
      used_by: 0,
      created_at: '2026-03-01T00:00:00.000Z',
    });
  });

  it('counts days down through the end', () => {
    const models = folded(certificateList, certificateImported('a', { facts: { notAfter: '2026-12-29T00:00:00Z' } }));
    expect(page(models, { mode: 'detailed' }).cert_basics[0]).to.include({ days_remaining: -2, expired: true });
  });

  it('keeps an entry in its place when its key or another chain comes later', () => {
    const models = folded(
      certificateList,
      certificateImported('a'),
      certificateImported('b', { hasKey: true, name: 'B' }),
      keyAttached('a'),
      certificateImported('b', { chain: ['CA'] }),
      certificateImported('a', { chain: ['CA'] }),
    );
    expect(names(models)).to.deep.equal(['a', 'b']);
    expect(page(models, { mode: 'detailed' }).cert_basics.map(({ has_private }) => has_private)).to.deep.equal([
      true,
      true,
    ]);
    expect(page(models, { mode: 'detailed' }).cert_basics[1]).to.include({ chain_length: 2, name: 'B' });
  });

  it('forgets a deleted certificate with its key', () => {
    const models = folded(
      certificateList,
      certificateImported('a', { hasKey: true }),
      certificateDeleted('a'),
      certificateImported('b'),
      certificateImported('a'),
    );
    expect(names(models)).to.deep.equal(['b', 'a']);
    expect(names(models, { mode: 'detailed', filter: 'with_pk' })).to.deep.equal([]);
  });

  it('keeps a certificate whose key was shredded, among those without', () => {
    const models = folded(certificateList, certificateImported('a', { hasKey: true }), keyShredded('a', 'asked'));
    expect(names(models, { mode: 'detailed', filter: 'without_pk' })).to.deep.equal(['a']);
    expect(names(models, { mode: 'detailed', filter: 'with_pk' })).to.deep.equal([]);
  });

  it('does not take the shredding of an earlier key for that of the present one', () => {
    const models = folded(
      certificateList,
      certificateImported('a', { hasKey: true, kid: 'first' }),
      certificateDeleted('a'),
      certificateImported('a', { hasKey: true, kid: 'second' }),
      keyShredded('a', 'deleted', 'first'),
    );
    expect(names(models, { mode: 'detailed', filter: 'with_pk' })).to.deep.equal(['a']);
  });

  describe('with some of each kind', () => {
    let models: ReadModelStore;
    before(() => {
      models = folded(
        certificateList,
        ...Array.from({ length: 25 }, (_, index) => certificateImported(`c${index}`, { hasKey: index % 2 === 0 })),
      );
    });
    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `c${from + index}`);
    const cases: readonly [name: string, query: CertificateQuery, names: readonly string[], pages: number][] = [
      ['the first page', {}, range(0, 10), 3],
      ['page 1', { page: 1 }, range(0, 10), 3],
      ['the last page', { page: 3 }, range(20, 25), 3],
      ['nothing beyond the end', { page: 4 }, [], 3],
      ['everything for 0', { page: 0 }, range(0, 25), 1],
      ['everything below 0', { page: -1 }, range(0, 25), 1],
      ['larger pages', { page: 2, pageSize: 20 }, range(20, 25), 2],
      ['one page that is just full', { pageSize: 25 }, range(0, 25), 1],
      ['those with a key', { mode: 'detailed', filter: 'with_pk', page: 2 }, ['c20', 'c22', 'c24'], 2],
      ['those without', { mode: 'detailed', filter: 'without_pk', page: 2 }, ['c21', 'c23'], 2],
      ['all when the filter says so', { mode: 'detailed', filter: 'omit' }, range(0, 10), 3],
      ['all when a filter has no effect', { filter: 'with_pk' }, range(0, 10), 3],
    ];
    for (const [name, query, expected, pages] of cases) {
      it(`lists ${name}`, () => {
        expect(names(models, query)).to.deep.equal(expected);
        expect(page(models, query).pages).to.equal(pages);
      });
    }
  });

  it('finds the right page among 10,000', () => {
    const models = folded(
      certificateList,
      ...Array.from({ length: 10_000 }, (_, index) => certificateImported(`c${index}`, { hasKey: index % 100 === 7 })),
    );
    expect(names(models, { page: 501 })).to.deep.equal(Array.from({ length: 10 }, (_, index) => `c${5_000 + index}`));
    expect(page(models, { page: 501 }).pages).to.equal(1_000);
    expect(names(models, { mode: 'detailed', filter: 'with_pk', page: 10 })).to.deep.equal(
      Array.from({ length: 10 }, (_, index) => `c${9_007 + index * 100}`),
    );
    expect(page(models, { page: 0 }).cert_basics).to.have.length(10_000);
  });

  it('hides what other organisations have', () => {
    const models = folded(certificateList, certificateImported('a'));
    expect(listCertificates(models, toOrgId('others'), {}, now)).to.deep.equal({ cert_basics: [], pages: 1 });
  });
});

describe('getCertificate', () => {
  const subject = {
    commonName: 'a.example',
    serialNumber: '42',
    country: ['NO'],
    organization: ['A'],
    organizationalUnit: [],
    locality: [],
    province: [],
    streetAddress: [],
    postalCode: [],
  };
  const chainFacts = [certificateFacts('Test CA', { isCa: true, fingerprint: 'fa' })];
  const models = folded(
    certificateList,
    certificateImported('a.example', { hasKey: true, chain: ['CA PEM'], facts: { subject, chainFacts } }),
    certificateImported('b.example', { chain: ['unread PEM'] }),
  );
  const get = (id: string) => getCertificate(models, org, id, now);

  it('shows the certificate with its names, chain and public part', () => {
    const shown = get(certIdOf('a.example'));
    expect(shown).to.deep.include({
      id: certIdOf('a.example'),
      has_private: true,
      subject: {
        CommonName: 'a.example',
        SerialNumber: '42',
        Country: ['NO'],
        Organization: ['A'],
        OrganizationalUnit: [],
        Locality: [],
        Province: [],
        StreetAddress: [],
        PostalCode: [],
      },
      pem: 'PEM of a.example',
      used_by: [],
      chain_length: 2,
    });
    expect(shown?.issuer.CommonName).to.equal('Test CA');
    expect(shown?.chain[0]).to.deep.include({ fingerprint: 'fa', is_ca: true, pem: 'CA PEM' });
  });

  it('shows the PEM alone of a chain that nobody read', () => {
    expect(get(certIdOf('b.example'))?.chain).to.deep.equal([{ pem: 'unread PEM' }]);
  });

  it('holds nothing of the key', () => {
    expect(JSON.stringify(get(certIdOf('a.example')))).to.not.contain(sealed.ct);
  });

  it('takes the fingerprint alone', () => {
    expect(get(certIdOf('a.example').slice(org.length))?.id).to.equal(certIdOf('a.example'));
  });

  it('knows no other', () => {
    expect(get(certIdOf('c.example'))).to.equal(undefined);
    expect(get('nonsense')).to.equal(undefined);
  });

  it('refuses an id that names another organisation', () => {
    expect(() => get(certIdOf('a.example', toOrgId('others'))))
      .to.throw(Refusal)
      .with.property('code', 'certificate_foreign');
    expect(ownCertId(org, certIdOf('a.example'))).to.equal(certIdOf('a.example'));
  });
});

describe('uses of many certificates', () => {
  it('are the same counted one by one and in one pass', () => {
    const names = Array.from({ length: 600 }, (_, index) => `c${index}`);
    const models = folded(certificateList, ...names.map((name) => certificateImported(name)));
    const using = (id: string, ...certificates: readonly string[]) =>
      apiCreated({
        id,
        document: apiDocument({
          info: { id },
          server: {
            listenPath: { value: `/${id}/`, strip: true },
            customDomain: {
              enabled: true,
              name: 'a.example',
              certificates: certificates.map((name) => certIdOf(name)),
            },
          },
        }),
      });
    foldInto(models, apiCatalog, using('one', 'c0', 'c1', 'c1'), using('two', 'c1', 'c599'), using('three'));
    const countsOf = (query: Parameters<typeof listCertificates>[2]) =>
      listCertificates(models, org, { mode: 'detailed', ...query }, 0).cert_basics.map((one) =>
        'used_by' in one ? one.used_by : undefined,
      );
    const all = countsOf({ page: 0 });
    expect([all[0], all[1], all[2], all[599]]).to.deep.equal([1, 2, 0, 1]);
    expect([...countsOf({ page: 1, pageSize: 300 }), ...countsOf({ page: 2, pageSize: 300 })]).to.deep.equal(all);
  });
});
