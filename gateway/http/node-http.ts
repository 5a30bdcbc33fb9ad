/**
 * Values of `node:http` without an `import` of it: that reads every export once, and one of them loads the whole of fetch and
 * WebSocket, which is a fifth of the time in which a gateway starts.
 */
export const { createServer, request, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
