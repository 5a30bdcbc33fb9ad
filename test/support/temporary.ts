/** Temporary folders that remove themselves and free loopback ports, so that every test has its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type TemporaryFolder = Disposable & { readonly path: string; file(...names: string[]): string };

/** Use with `using`: the folder is gone when the block ends. */
export function temporaryFolder(prefix = 'svc-test-'): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), prefix));
  return {
    path,
    file: (...names) => join(path, ...names),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** A port that nobody listened on a moment ago; for programs that cannot take port 0. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.');
  return address.port;
}
