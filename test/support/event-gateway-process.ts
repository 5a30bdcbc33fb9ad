/** A gateway with an outbox in a process of its own, to be killed: its API `guarded` tells one webhook. Prints where it listens. */
import { guardedApi, handler, startEventGateway } from './event-gateway.ts';

const [directory = '', url = ''] = process.argv.slice(2);
const gateway = await startEventGateway({ directory });
gateway.feed.putWebhook('alarms', { url, method: 'POST', headers: [] });
await gateway.put('guarded', guardedApi('guarded', [handler({ id: 'alarms' })]));
process.stdout.write(`${JSON.stringify({ url: gateway.url })}\n`);
process.once('SIGTERM', () => void gateway[Symbol.asyncDispose]());
