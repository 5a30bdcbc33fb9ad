/** The product in a process of its own, in front of a sample upstream, in a folder that goes with them. */
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { type SvcOptions, type SvcProcess, startSvc } from './svc-process.ts';
import { temporaryFolder } from './temporary.ts';

export type Product = AsyncDisposable & {
  /** As it runs now. */
  readonly svc: SvcProcess;
  /** Once it has ended: with the same folder, on other ports. */
  restart(): Promise<void>;
  readonly upstream: Awaited<ReturnType<typeof startSampleUpstream>>;
};

export async function startProduct(options: Omit<SvcOptions, 'data'> = {}): Promise<Product> {
  const folder = temporaryFolder('svc-product-');
  const upstream = await startSampleUpstream(0);
  const start = () => startSvc({ ...options, data: folder.path });
  let svc = await start();
  return {
    upstream,
    get svc() {
      return svc;
    },
    restart: async () => {
      svc = await start();
    },
    [Symbol.asyncDispose]: async () => {
      await svc.kill();
      await upstream.stop();
      folder[Symbol.dispose]();
    },
  };
}
