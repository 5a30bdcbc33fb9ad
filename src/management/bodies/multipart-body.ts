/** Reads the one file of a multipart body that is in memory already. */
import { Busboy } from '@fastify/busboy';
import { bodyMalformed } from '../../../domain/errors.ts';

type FilePart = {
  /** Name of the part. */
  readonly field: string;
  readonly fileName: string;
  readonly type: string;
  readonly bytes: Uint8Array;
};

/** One more than is ever used, so that too many can be told apart. */
const limits = { files: 2, fields: 20, parts: 22, fieldSize: 64 * 1024, fieldNameSize: 100, headerPairs: 20 };

/** Rejects with `body_malformed` when the body does not parse, holds no or several files, or far too many fields. */
export function readFilePart(body: Uint8Array, contentType: string): Promise<FilePart> {
  return new Promise((resolve, reject) => {
    const files: FilePart[] = [];
    const refuse = (reason: string) => reject(bodyMalformed(reason));
    let parser: InstanceType<typeof Busboy>;
    try {
      parser = new Busboy({ headers: { 'content-type': contentType }, limits });
    } catch {
      refuse('the multipart body has no boundary');
      return;
    }
    parser.on('file', (field, stream, fileName, _, type) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      // Without its end the part is cut off; the parser reports that.
      stream.on('error', () => refuse('the multipart body breaks off'));
      stream.on('end', () => files.push({ field, fileName: fileName ?? '', type, bytes: Buffer.concat(chunks) }));
    });
    for (const event of ['partsLimit', 'fieldsLimit'] as const) {
      parser.on(event, () => refuse('the multipart body has too many parts'));
    }
    parser.on('error', () => refuse('the multipart body does not parse'));
    parser.on('finish', () => {
      const [file] = files;
      if (file && files.length === 1) resolve(file);
      else refuse('the multipart body must hold exactly one file');
    });
    parser.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  });
}
