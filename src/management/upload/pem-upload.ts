/** Reads the blocks of an upload in PEM; text between them does not count. */
import { checkWork, type Work } from './key-encryption.ts';
import { createParts, keyNotParsed, notDecoded, type UploadParts } from './upload-parts.ts';

type Block = { readonly label: string; readonly pem: string; readonly body: string };

const blockPattern =
  /-----BEGIN (?<label>[A-Z0-9 ]+)-----(?<body>[^-]*(?:-(?!----)[^-]*)*)-----END (?<end>[A-Z0-9 ]+)-----/g;

const keyLabels: ReadonlySet<string> = new Set([
  'RSA PRIVATE KEY',
  'EC PRIVATE KEY',
  'PRIVATE KEY',
  'ENCRYPTED PRIVATE KEY',
]);
const certificateLabel = 'CERTIFICATE';
const publicKeyLabel = 'PUBLIC KEY';

const isKnown = ({ label }: Block): boolean =>
  label === certificateLabel || label === publicKeyLabel || keyLabels.has(label);

/** Undefined when there is no block of a kind that counts. Throws `certificate_invalid`. */
export async function readPem(
  bytes: Uint8Array,
  passphrase: string | undefined,
  work: Work,
): Promise<UploadParts | undefined> {
  const blocks = readBlocks(bytes);
  if (!blocks.some(isKnown)) return undefined;
  const parts = createParts();
  for (const { label, pem, body } of blocks) {
    if (label === certificateLabel) parts.certificate(derOf(body));
    else if (label === publicKeyLabel) parts.publicKey(derOf(body));
    else if (keyLabels.has(label)) {
      if (label === 'ENCRYPTED PRIVATE KEY') await checkEncryption(body, work);
      parts.key({ key: pem, format: 'pem', ...(passphrase === undefined ? {} : { passphrase }) });
    } else parts.ignore(`PEM block ${label}`);
  }
  return parts.done();
}

function readBlocks(bytes: Uint8Array): readonly Block[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const blocks = [...text.matchAll(blockPattern)].map(({ 0: pem, groups = {} }) => {
    const { label = '', body = '', end } = groups;
    if (label !== end) throw notDecoded();
    return { label, pem, body };
  });
  // An opened block that never ends is a body that was cut off.
  if (text.split('-----BEGIN ').length - 1 !== blocks.length) throw notDecoded();
  return blocks;
}

function derOf(body: string): Buffer {
  const base64 = body.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw notDecoded();
  return Buffer.from(base64, 'base64');
}

async function checkEncryption(body: string, work: Work): Promise<void> {
  try {
    await checkWork(derOf(body), work);
  } catch {
    throw keyNotParsed();
  }
}
