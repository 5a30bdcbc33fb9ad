/** Reads a form body for variables that name its fields, up to 1 MiB, and lets it go on to the upstream as it was. */
import type { Context, Step } from '../../http/context.ts';

const maxFormBytes = 1_048_576;

export const formFields = (idleMs: number): Step =>
  function formFields(context) {
    const { contentLength, contentType } = context.head;
    // Without a declared length it cannot be known beforehand that the form is short enough.
    if (contentLength <= 0 || contentLength > maxFormBytes) return undefined;
    if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)) return undefined;
    return readForm(context, idleMs);
  };

async function readForm(context: Context, idleMs: number): Promise<undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of context.openBody(idleMs)) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  context.bufferedBody = bytes;
  context.fields = [...new URLSearchParams(bytes.toString('utf8'))];
  return undefined;
}
