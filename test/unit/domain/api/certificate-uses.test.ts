/** Which certificates a definition names, where, and what is left when one is taken out. */
import { expect } from 'chai';
import { namedCertificates, withoutCertificate } from '../../../../domain/api/certificate-uses.ts';
import { canonical } from '../../../../domain/api/classic/codec.ts';
import type { JsonObject } from '../../../../domain/event.ts';

const id = (letter: string): string => `acme${letter.repeat(64)}`;
const [a, b] = [id('a'), id('b')];
const document = (extension: JsonObject): JsonObject => ({ 'x-svc-api-gateway': extension });
const place = (path: string): string => `/x-svc-api-gateway/${path}`;

const blocks: readonly (readonly [name: string, extension: (enabled: boolean) => JsonObject, found: object])[] = [
  [
    'clientCertificates',
    (enabled) => ({ server: { clientCertificates: { enabled, allowlist: [a] } } }),
    { role: 'client', pointer: place('server/clientCertificates/allowlist/0') },
  ],
  [
    'customDomain',
    (enabled) => ({ server: { customDomain: { enabled, certificates: [a] } } }),
    { role: 'server', pointer: place('server/customDomain/certificates/0') },
  ],
  [
    'mutualTLS',
    (enabled) => ({
      upstream: { mutualTLS: { enabled, domainToCertificateMapping: [{ domain: '*', certificate: a }] } },
    }),
    { role: 'upstream', pointer: place('upstream/mutualTLS/domainToCertificateMapping/0/certificate') },
  ],
  [
    'certificatePinning',
    (enabled) => ({
      upstream: {
        certificatePinning: {
          enabled,
          domainToPublicKeysMapping: [{ domain: '*', publicKeys: ['c'.repeat(64), `${'d'.repeat(43)}=`, a] }],
        },
      },
    }),
    { role: 'pin', pointer: place('upstream/certificatePinning/domainToPublicKeysMapping/0/publicKeys/2') },
  ],
];

describe('namedCertificates', () => {
  for (const [name, extension, found] of blocks) {
    it(`finds what ${name} names while it is enabled`, () => {
      expect(namedCertificates(document(extension(true)))).to.deep.equal([{ certId: a, ...found }]);
      expect(namedCertificates(document(extension(false)))).to.deep.equal([]);
    });
  }

  it('finds nothing in documents of other shapes', () => {
    const odd = { server: { clientCertificates: { enabled: true, allowlist: 'x' } }, upstream: { mutualTLS: true } };
    for (const one of [{}, document({}), document(odd as JsonObject)]) {
      expect(namedCertificates(one)).to.deep.equal([]);
    }
  });
});

describe('withoutCertificate', () => {
  it('leaves the rest, and lists that became empty', () => {
    const before = document({
      info: { name: 'x' },
      server: { clientCertificates: { enabled: true, allowlist: [a, b, a] } },
      upstream: {
        mutualTLS: {
          enabled: true,
          domainToCertificateMapping: [
            { domain: 'x', certificate: a },
            { domain: 'y', certificate: b },
          ],
        },
        certificatePinning: { enabled: true, domainToPublicKeysMapping: [{ domain: '*', publicKeys: [a] }] },
      },
    });
    expect(withoutCertificate(before, a)).to.deep.equal(
      document({
        info: { name: 'x' },
        server: { clientCertificates: { enabled: true, allowlist: [b] } },
        upstream: {
          mutualTLS: { enabled: true, domainToCertificateMapping: [{ domain: 'y', certificate: b }] },
          certificatePinning: { enabled: true, domainToPublicKeysMapping: [{ domain: '*', publicKeys: [] }] },
        },
      }),
    );
    expect(withoutCertificate(before, id('c'))).to.deep.equal(before);
  });

  it('adds nothing to a definition that names none', () =>
    expect(withoutCertificate(document({ info: {} }), a)).to.deep.equal(document({ info: {} })));

  it('knows Classic definitions', () => {
    const classic = {
      name: 'old',
      use_mutual_tls_auth: true,
      client_certificates: [a, b],
      upstream_certificates: { '*': a, 'x.example': b },
      pinned_public_keys: { '*': `${a}, ${b}`, 'y.example': a, 'z.example': b },
      proxy: { target_url: 'http://127.0.0.1:9/', listen_path: '/old/' },
    };
    const left = {
      ...classic,
      client_certificates: [b],
      upstream_certificates: { 'x.example': b },
      pinned_public_keys: { '*': b, 'y.example': '', 'z.example': b },
    };
    expect(withoutCertificate(classic, a)).to.deep.equal(left);
    const roles = namedCertificates(canonical(classic)).filter(({ certId }) => certId === a);
    expect(roles.map(({ role }) => role)).to.have.members(['client', 'upstream', 'pin', 'pin']);
    expect(namedCertificates(canonical(left)).filter(({ certId }) => certId === a)).to.deep.equal([]);
  });
});
