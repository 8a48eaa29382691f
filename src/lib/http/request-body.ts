/** Receives bodies of requests: reads one into memory, and refuses stalled ones, and the slowest if too many are slow. */
import type { IncomingMessage } from 'node:http';
import { JoinedBytes } from '../limits.ts';
import { durationText } from '../yaml/scalar-schemas.ts';
import { type HttpResponse, refusal, tooMany } from './http-response.ts';

export interface ArrivingBody {
  request: IncomingMessage;
  /** Asks the client for the body (`100 Continue`) and limits the time it may take. `maxBytes`: its maximum size. */
  sendContinue: (maxBytes?: number) => void;
  /** Aborts when the client has disconnected, or was refused while its body arrived. */
  gone: AbortSignal;
}

/** Returns a refusal if the body is not accepted, or undefined if the client has disconnected. */
export async function readBody(
  { request, sendContinue, gone }: ArrivingBody,
  maxBytes: number,
): Promise<Buffer | HttpResponse | undefined> {
  const tooLarge: HttpResponse = {
    ...refusal(400, `exceeded max body size of ${maxBytes} bytes`),
    isTooLarge: true,
  };
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return tooLarge;
  sendContinue(maxBytes);
  return await new Promise((resolve) => {
    const bytes = new JoinedBytes(request.headers['content-length']);
    const finish = (result: Buffer | HttpResponse | undefined) => {
      request.pause();
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      gone.removeEventListener('abort', onGone);
      // A later error of the connection must not crash the process as an unhandled 'error' event.
      request.on('error', () => undefined);
      bytes.clear();
      resolve(result);
    };
    const onData = (chunk: Buffer) => {
      if (bytes.byteCount + chunk.length > maxBytes) finish(tooLarge);
      else bytes.add(chunk);
    };
    const onEnd = () => finish(bytes.take());
    const onGone = () => finish(undefined);
    if (gone.aborted) return finish(undefined);
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
    // A refused request must not take effect, although its whole body may still arrive.
    gone.addEventListener('abort', onGone);
  });
}

interface BodyLimits {
  /** Maximum ms without any bytes. */
  silenceMs: number;
  /** Minimum speed. A slower body is refused too, only later. */
  bytesPerSecond: number;
  /** Time in ms after which an incomplete body is refused. */
  maxMs: number;
  /** Time in ms after which an incomplete body counts as slow. */
  slowMs: number;
  /** Maximum number of slow bodies, and the memory reserved for them. A single one may be larger. */
  maxSlow: number;
  maxSlowBytes: number;
  /** Interval of the checks, in ms. */
  everyMs: number;
}

interface Awaited {
  bytes: number;
  /** Answers the request, and ends all waiting for its body. */
  refuse: (answer: HttpResponse) => void;
}

interface Body extends Awaited {
  request: IncomingMessage;
  begunAt: number;
  seenAt: number;
  /** Bytes that the connection had received before the body. */
  bytesBefore: number;
  bytesSeen: number;
  patienceMs: number;
}

/** Tracks bodies. Times are monotonic ms. */
export class BodyWatch {
  readonly #limits: BodyLimits;
  readonly #bodies = new Set<Body>();

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Watches the body until it is complete, or `remove` is called. It is refused at most once. */
  add(request: IncomingMessage, awaited: Awaited, now: number): { remove: () => void } {
    const { bytesRead } = request.socket;
    const { silenceMs: patienceMs } = this.#limits;
    const seen = { seenAt: now, bytesSeen: bytesRead, patienceMs };
    const body: Body = { request, ...awaited, begunAt: now, bytesBefore: bytesRead, ...seen };
    this.#bodies.add(body);
    return { remove: () => void this.#bodies.delete(body) };
  }

  /** Refuses bodies that exceed a limit. Call every `everyMs`. */
  look(now: number): void {
    const { maxMs, slowMs, maxSlow, maxSlowBytes } = this.#limits;
    for (const body of this.#bodies) {
      if (body.request.complete) this.#bodies.delete(body);
      else if (this.#patienceAt(body, now) <= 0) this.#refuse(body, this.#tooSlow());
      else if (now - body.begunAt >= maxMs) this.#refuse(body, tooLong(maxMs));
    }
    const slow = [...this.#bodies].filter(({ begunAt }) => now - begunAt >= slowMs);
    // Keeps those that are nearly complete, so that new bodies cannot push out the others again and again.
    slow.sort((one, other) => msLeft(one, now) - msLeft(other, now));
    let bytes = 0;
    for (const [index, body] of slow.entries()) {
      bytes += body.bytes;
      if (index > 0 && (index >= maxSlow || bytes > maxSlowBytes)) this.#refuse(body, crowded);
    }
  }

  refuseAll(answer: HttpResponse): void {
    for (const body of this.#bodies) if (!body.request.complete) this.#refuse(body, answer);
  }

  #patienceAt(body: Body, now: number): number {
    const { silenceMs, bytesPerSecond, everyMs } = this.#limits;
    const { request, seenAt, bytesSeen, patienceMs } = body;
    const { bytesRead } = request.socket;
    // While this process was suspended, it could not receive anything.
    const waitedMs = Math.min(now - seenAt, 2 * everyMs);
    const earnedMs = ((bytesRead - bytesSeen) / bytesPerSecond) * 1_000;
    // If received bytes wait here, the client is not to blame.
    const leftMs = request.readableLength > 0 ? silenceMs : patienceMs - waitedMs + earnedMs;
    Object.assign(body, { seenAt: now, bytesSeen: bytesRead, patienceMs: Math.min(silenceMs, leftMs) });
    return leftMs;
  }

  #refuse(body: Body, answer: HttpResponse): void {
    this.#bodies.delete(body);
    body.refuse(answer);
  }

  #tooSlow(): HttpResponse {
    const { silenceMs, bytesPerSecond } = this.#limits;
    const text = `the body of the request stopped coming: nothing for ${silenceMs / 1_000} s, or less than ${bytesPerSecond} bytes a second; nothing was done`;
    return refusal(408, text);
  }
}

/** Returns the ms that the rest takes at the average speed so far. */
function msLeft({ bytes, bytesBefore, begunAt, request: { socket } }: Body, now: number): number {
  const came = Math.max(1, socket.bytesRead - bytesBefore);
  return ((bytes - came) / came) * (now - begunAt);
}

function tooLong(maxMs: number): HttpResponse {
  return refusal(408, `the body of the request took longer than ${durationText(maxMs)}; nothing was done`);
}

const crowded = tooMany('too many slow uploads at once; nothing was done, send it again later', 30_000);
