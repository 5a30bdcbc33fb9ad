/** A thin client of the management API on `fetch`, without any Node import: command line and console use it. */

export type ClientProblem = { readonly pointer: string; readonly code: string; readonly message: string };

/** The management API answered with an error. `code` is stable; see `docs/reference/errors.md`. */
export class ClientError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problems: readonly ClientProblem[];
  constructor(status: number, code: string, message: string, problems: readonly ClientProblem[] = []) {
    super(message);
    this.name = 'ClientError';
    this.status = status;
    this.code = code;
    this.problems = problems;
  }
}

/** No answer came. */
export class UnreachableError extends Error {
  readonly url: string;
  constructor(url: string, options?: { readonly cause?: unknown }) {
    super(`The management API at ${url} does not answer`, options);
    this.name = 'UnreachableError';
    this.url = url;
  }
}

type ClientAnswer = {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed when the answer is JSON, else the text. */
  readonly body: unknown;
};

type ClientQuery = Readonly<Record<string, string | number | boolean | undefined>>;

type SendOptions = {
  /** Text and bytes go as they are, with the content type of `headers`; anything else goes as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: ClientQuery;
};

export type Client = {
  get(path: string, query?: ClientQuery): Promise<ClientAnswer>;
  send(method: string, path: string, options?: SendOptions): Promise<ClientAnswer>;
  /** The body of a read as it comes, for answers that do not fit into memory. */
  download(path: string, query?: ClientQuery): Promise<AsyncIterable<Uint8Array>>;
};

export type ClientOptions = {
  /** `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly token: string;
  /** Default: the one of the platform. */
  readonly fetch?: typeof fetch;
};

/** Throws `ClientError` for every status from 400 on and `UnreachableError` when no answer comes. */
export function createClient({ url, token, fetch: send = fetch }: ClientOptions): Client {
  const ask = async (method: string, path: string, options: SendOptions): Promise<Response> => {
    const { body, type } = encode(options.body);
    const headers = {
      authorization: `Bearer ${token}`,
      // Errors as problem documents: they list every problem of a body.
      accept: 'application/problem+json, application/json;q=0.9',
      ...(type === undefined ? {} : { 'content-type': type }),
      ...options.headers,
    };
    const address = addressOf(url, path, options.query);
    return reached(url, () => send(address, { method, headers, ...(body === undefined ? {} : { body }) }));
  };
  const read = async (response: Response): Promise<ClientAnswer> => {
    const { status, headers } = response;
    const answer = { status, headers, body: decode(headers, await reached(url, () => response.text())) };
    if (status >= 400) throw toError(answer);
    return answer;
  };
  const call = async (method: string, path: string, options: SendOptions = {}): Promise<ClientAnswer> =>
    read(await ask(method, path, options));
  const download = async (path: string, query: ClientQuery = {}): Promise<AsyncIterable<Uint8Array>> => {
    const response = await ask('GET', path, { query });
    if (response.status >= 400) await read(response);
    return pieces(url, response.body);
  };
  return { get: (path, query = {}) => call('GET', path, { query }), send: call, download };
}

async function reached<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new UnreachableError(url, { cause });
  }
}

async function* pieces(url: string, body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { value, done } = await reached(url, () => reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function addressOf(url: string, path: string, query: ClientQuery = {}): string {
  const address = new URL(path, url.endsWith('/') ? url : `${url}/`);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) address.searchParams.set(name, String(value));
  }
  return address.href;
}

function encode(body: unknown): { readonly body?: string | Uint8Array<ArrayBuffer>; readonly type?: string } {
  if (body === undefined) return {};
  if (typeof body === 'string') return { body };
  if (body instanceof Uint8Array) return { body: new Uint8Array(body) };
  return { body: JSON.stringify(body), type: 'application/json' };
}

function decode(headers: Headers, text: string): unknown {
  if (!/[/+]json\b|\.oas\b/.test(headers.get('content-type') ?? '')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Both forms of errors: the documented shape and the problem document. */
function toError({ status, headers, body }: ClientAnswer): ClientError {
  const { code, detail, Message, errors } = (typeof body === 'object' && body !== null ? body : {}) as {
    readonly code?: string;
    readonly detail?: string;
    readonly Message?: string;
    readonly errors?: readonly ClientProblem[];
  };
  const text = detail ?? Message ?? (typeof body === 'string' && body !== '' ? body : `status ${status}`);
  return new ClientError(status, code ?? headers.get('x-svc-error-code') ?? '', text, errors ?? []);
}
