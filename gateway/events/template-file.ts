/** Reads a file of templates: one below its folder, whatever its name, its links, and what stands there say. */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { isTemplateName } from '../../domain/webhook-template.ts';

const maxBytes = 65_536;

export type TemplateFile = { readonly text: string } | { readonly fault: string };

export function readTemplateFile(folder: string, name: string): TemplateFile {
  if (!isTemplateName(name)) return { fault: 'the name is none of a file below gateway.templates_path' };
  let root: string;
  try {
    root = realpathSync(folder);
  } catch {
    return { fault: 'gateway.templates_path is not there' };
  }
  try {
    const path = realpathSync(join(root, name));
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep))
      return { fault: 'the file is outside of gateway.templates_path' };
    return readRegular(path);
  } catch (error) {
    const { code = 'failed' } = error as { readonly code?: string };
    return { fault: code === 'ENOENT' ? 'the file is not there' : `the file cannot be read (${code})` };
  }
}

/** A link that came after the look at the path is not followed, and nothing is waited for. */
function readRegular(path: string): TemplateFile {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return { fault: 'it is no file' };
    const buffer = Buffer.alloc(maxBytes + 1);
    const length = readSync(file, buffer, 0, buffer.length, 0);
    if (length > maxBytes) return { fault: `the file is longer than ${maxBytes} bytes` };
    return { text: buffer.subarray(0, length).toString('utf8') };
  } finally {
    closeSync(file);
  }
}
