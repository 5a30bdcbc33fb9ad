/** The body of an upload of certificates: the file itself, or a form with the fields `file`, `passphrase` and `name`. */
import { Busboy } from '@fastify/busboy';
import { bodyMalformed } from '../../../domain/errors.ts';

export type CertificateBody = {
  readonly bytes: Uint8Array;
  readonly passphrase?: string;
  readonly name?: string;
};

/** Throws `body_malformed` for a form that does not read or does not hold exactly one file. */
export async function readCertificateBody(body: Uint8Array, contentType = ''): Promise<CertificateBody> {
  if (!/^\s*multipart\/form-data\s*(;|$)/i.test(contentType)) return { bytes: body };
  const { file, fields } = await readForm(body, contentType);
  const [passphrase, name] = [fields.get('passphrase'), fields.get('name')];
  return {
    bytes: file,
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(name === undefined ? {} : { name }),
  };
}

type Form = { readonly file: Buffer; readonly fields: ReadonlyMap<string, string> };

const limits = { fields: 20, files: 2, parts: 20, headerPairs: 20, fieldSize: 16 * 1024 };

/** The size of the whole was checked before. */
function readForm(body: Uint8Array, contentType: string): Promise<Form> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => reject(bodyMalformed(reason));
    const files: Buffer[][] = [];
    const fields = new Map<string, string>();
    // Programs that send text leave the name of the file out.
    const isPartAFile = (name: string | undefined): boolean => name === 'file';
    const parser = formParser({ headers: { 'content-type': contentType }, limits, isPartAFile });
    if (!parser) return fail('the multipart body has no boundary');
    parser.on('file', (_, stream) => {
      const pieces: Buffer[] = [];
      files.push(pieces);
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('error', () => fail('the multipart body does not parse'));
    });
    parser.on('field', (name, value, _, isCut) => {
      if (isCut) fail(`the field "${name}" is too long`);
      fields.set(name, value);
    });
    parser.on('error', () => fail('the multipart body does not parse'));
    for (const event of ['fieldsLimit', 'filesLimit', 'partsLimit']) {
      parser.on(event, () => fail('the multipart body has too many parts'));
    }
    parser.on('finish', () => {
      const [pieces] = files;
      if (files.length === 1 && pieces) resolve({ file: Buffer.concat(pieces), fields });
      else fail('the multipart body must hold exactly one file, in the field "file"');
    });
    parser.end(body);
  });
}

function formParser(config: ConstructorParameters<typeof Busboy>[0]): InstanceType<typeof Busboy> | undefined {
  try {
    return new Busboy(config);
  } catch {
    return undefined;
  }
}
