/** The upstream of benchmarks: 1 KiB for every request, in a process of its own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = Buffer.alloc(1024, 'x');
const headers = ['Content-Type', 'text/plain', 'Content-Length', '1024', 'X-Powered-By', 'upstream'];
const server = createServer({ keepAliveTimeout: 60_000 }, (_, response) => {
  response.writeHead(200, headers);
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
});
process.on('disconnect', () => process.exit(0));
