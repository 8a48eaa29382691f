/** The bodies that are being received: one that stops is refused, and of too many slow ones the one that needs longest. */
import type { IncomingMessage } from 'node:http';
import { durationText } from '../yaml/scalar-schemas.ts';
import { type HttpResponse, refusal, tooMany } from './http-response.ts';

export interface BodyLimits {
  /** For how long nothing may come. */
  silenceMs: number;
  /** A body that comes slower than this runs out of patience as well, only later. */
  bytesPerSecond: number;
  /** A body that is not complete by then is refused. */
  maxMs: number;
  /** A body that is not complete by then is slow. */
  slowMs: number;
  /** Slow bodies at once, and the memory that is set aside for them; a single one may be larger. */
  maxSlow: number;
  maxSlowBytes: number;
  /** How often they are looked at. */
  everyMs: number;
}

interface Awaited {
  /** As much as it may have. */
  bytes: number;
  /** Answers the request, and has whoever waits for its body give up. */
  refuse: (answer: HttpResponse) => void;
}

interface Body extends Awaited {
  request: IncomingMessage;
  begunAt: number;
  seenAt: number;
  /** Of the connection. */
  bytesBefore: number;
  bytesSeen: number;
  patienceMs: number;
}

/** Instants are monotonic. */
export class BodyWatch {
  readonly #limits: BodyLimits;
  readonly #bodies = new Set<Body>();

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Watches the body until it is complete, or `remove` is called; it is refused once at most. */
  add(request: IncomingMessage, awaited: Awaited, now: number): { remove: () => void } {
    const { bytesRead } = request.socket;
    const { silenceMs: patienceMs } = this.#limits;
    const seen = { seenAt: now, bytesSeen: bytesRead, patienceMs };
    const body: Body = { request, ...awaited, begunAt: now, bytesBefore: bytesRead, ...seen };
    this.#bodies.add(body);
    return { remove: () => void this.#bodies.delete(body) };
  }

  /** To be called every `everyMs`. */
  look(now: number): void {
    const { maxMs, slowMs, maxSlow, maxSlowBytes } = this.#limits;
    for (const body of this.#bodies) {
      if (body.request.complete) this.#bodies.delete(body);
      else if (this.#patienceAt(body, now) <= 0) this.#refuse(body, this.#tooSlow());
      else if (now - body.begunAt >= maxMs) this.#refuse(body, tooLong(maxMs));
    }
    const slow = [...this.#bodies].filter(({ begunAt }) => now - begunAt >= slowMs);
    // Those that are nearly there are kept: whoever comes again does not push out the others without end.
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
    // While this process stood still nobody could be heard.
    const waitedMs = Math.min(now - seenAt, 2 * everyMs);
    const earnedMs = ((bytesRead - bytesSeen) / bytesPerSecond) * 1_000;
    // Where bytes wait to be taken here, the client is not to blame.
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

/** How long it takes at the pace that it had so far. */
function msLeft({ bytes, bytesBefore, begunAt, request: { socket } }: Body, now: number): number {
  const came = Math.max(1, socket.bytesRead - bytesBefore);
  return ((bytes - came) / came) * (now - begunAt);
}

function tooLong(maxMs: number): HttpResponse {
  return refusal(408, `the body of the request took longer than ${durationText(maxMs)}; nothing was done`);
}

const crowded = tooMany('too many slow uploads at once; nothing was done, send it again later', 30_000);
