/** A pump of its own process with a file sink, for tests that kill it. */
import { startPump } from '../../pump/pump.ts';
import { openLog, quiet } from './record-log-harness.ts';

const [directory = '', dataDirectory = '', path = ''] = process.argv.slice(2);
const pump = await startPump({
  log: openLog(directory),
  sinks: {
    out: {
      type: 'file',
      filters: { skipResponseCodes: [404] },
      batch: { records: 50, waitMs: 5 },
      meta: { path, max_bytes: 400_000 },
    },
  },
  listen: { host: '127.0.0.1', port: 0 },
  logger: quiet,
  dataDirectory,
});
process.stdout.write(`${JSON.stringify({ port: pump.address?.port })}\n`);
process.once('SIGTERM', () => void pump.stop(10_000).then(() => process.exit(0)));
