/** The body of a request on its way to the upstream: pulled as the upstream takes it, counted, cut at the API's limit. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { BodyCopy } from './body-copy.ts';

/** The body is longer than the API allows. */
export class BodyTooLarge extends Error {
  constructor() {
    super('The request body is longer than the API allows.');
    this.name = 'BodyTooLarge';
  }
}

/** The client sent nothing for longer than it may. */
export class BodyStalled extends Error {
  constructor() {
    super('The client stopped sending its request body.');
    this.name = 'BodyStalled';
  }
}

export type BodyLimits = {
  /** 0 = no limit of the API's own. */
  readonly maxBytes: number;
  /** Longest silence of a client whose turn it is to send. */
  readonly idleMs: number;
};

/**
 * A stream of its own beside the incoming message, because who sends it destroys it when something fails, and the
 * message's end would take the client's connection along.
 */
export class ClientBody extends Readable {
  readonly #source: IncomingMessage;
  readonly #limits: BodyLimits;
  readonly #response: ServerResponse | undefined;
  #isOpen = false;
  #isDetached = false;
  bytes = 0;
  /** Takes what passes, for the record. */
  copy: BodyCopy | undefined;

  /** `continueOn` is told to go on (100) when the body is wanted for the first time. */
  constructor(source: IncomingMessage, limits: BodyLimits, continueOn?: ServerResponse) {
    super({ highWaterMark: 65_536 });
    this.#source = source;
    this.#limits = limits;
    this.#response = continueOn;
  }

  override _read(): void {
    if (this.#isOpen) {
      this.#source.resume();
      return;
    }
    this.#isOpen = true;
    this.#response?.writeContinue();
    this.#source.socket.setTimeout(this.#limits.idleMs);
    this.#source.on('data', this.#onData).on('end', this.#onEnd);
    this.#source.on('error', this.#onError).on('timeout', this.#onIdle);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#detach();
    // What nobody reads any more must not block the connection for the next request.
    drain(this.#source);
    callback(error);
  }

  #detach(): void {
    if (!this.#isOpen || this.#isDetached) return;
    this.#isDetached = true;
    this.#source.off('data', this.#onData).off('end', this.#onEnd);
    this.#source.off('error', this.#onError).off('timeout', this.#onIdle);
    this.#source.socket?.setTimeout(0);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.bytes += chunk.length;
    this.copy?.add(chunk);
    if (this.#limits.maxBytes > 0 && this.bytes > this.#limits.maxBytes) this.destroy(new BodyTooLarge());
    else if (!this.push(chunk)) this.#source.pause();
  };

  readonly #onEnd = (): void => {
    this.#detach();
    this.push(null);
  };

  readonly #onError = (error: Error): void => {
    this.destroy(error);
  };

  /** A pause that we asked for is not the client's silence. */
  readonly #onIdle = (): void => {
    if (this.#source.isPaused()) this.#source.socket.setTimeout(this.#limits.idleMs);
    else this.destroy(new BodyStalled());
  };
}

/** What a client may still send after its answer, and how long it may be silent, before its connection is closed. */
const maxDrainedBytes = 1_048_576;
const drainIdleMs = 30_000;

/** Reads on and throws away, up to a bound, so that an answer before the end of the request arrives. */
export function drain(source: IncomingMessage): void {
  if (source.complete || source.destroyed) return;
  let drained = 0;
  source.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > maxDrainedBytes) source.socket.destroy();
  });
  // Nobody listens for the timeout any more, so that the server closes the connection by itself.
  source.socket.setTimeout(drainIdleMs);
  source.on('error', ignore);
  source.resume();
}

const ignore = (): void => {};
