/** Cipher suites of TLS 1.2, each in the IANA and the OpenSSL spelling: those that Node's OpenSSL has, without NULL and anonymous ones. */

type Spellings = readonly [iana: string, openSsl: string];

const aead = (prefix: string, short: string): readonly Spellings[] => [
  [`TLS_${prefix}_WITH_AES_128_GCM_SHA256`, `${short}AES128-GCM-SHA256`],
  [`TLS_${prefix}_WITH_AES_256_GCM_SHA384`, `${short}AES256-GCM-SHA384`],
];

const chacha = (prefix: string, short: string): readonly Spellings[] => [
  [`TLS_${prefix}_WITH_CHACHA20_POLY1305_SHA256`, `${short}CHACHA20-POLY1305`],
];

const cbc = (prefix: string, short: string, strong: 'SHA256' | 'SHA384'): readonly Spellings[] => [
  [`TLS_${prefix}_WITH_AES_128_CBC_SHA`, `${short}AES128-SHA`],
  [`TLS_${prefix}_WITH_AES_256_CBC_SHA`, `${short}AES256-SHA`],
  [`TLS_${prefix}_WITH_AES_128_CBC_SHA256`, `${short}AES128-SHA256`],
  [`TLS_${prefix}_WITH_AES_256_CBC_${strong}`, `${short}AES256-${strong}`],
];

export const tlsCiphers: readonly Spellings[] = [
  ...aead('ECDHE_ECDSA', 'ECDHE-ECDSA-'),
  ...aead('ECDHE_RSA', 'ECDHE-RSA-'),
  ...aead('DHE_RSA', 'DHE-RSA-'),
  ...aead('RSA', ''),
  ...chacha('ECDHE_ECDSA', 'ECDHE-ECDSA-'),
  ...chacha('ECDHE_RSA', 'ECDHE-RSA-'),
  ...chacha('DHE_RSA', 'DHE-RSA-'),
  ...cbc('ECDHE_ECDSA', 'ECDHE-ECDSA-', 'SHA384'),
  ...cbc('ECDHE_RSA', 'ECDHE-RSA-', 'SHA384'),
  ...cbc('DHE_RSA', 'DHE-RSA-', 'SHA256'),
  ...cbc('RSA', '', 'SHA256'),
];
