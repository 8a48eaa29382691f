/** An authorised request, as each operation is given it, and reading its body. */
import type { IncomingMessage } from 'node:http';
import { JoinedBytes } from '../../lib/limits/joined-bytes.ts';
import type { OperationName } from '../../protocol/operations.ts';
import type { Route } from '../../protocol/paths.ts';
import type { Endpoint } from '../workers/endpoint.ts';
import { type HttpResponse, refusal } from '../../lib/http/http-response.ts';

export interface RequestContext {
  route: Route;
  endpoint: Endpoint;
  /** The id of the key that it came with, which pays for it. */
  keyId: string;
  /** Whether the jobs of other keys do not exist for it. */
  hasOwnJobsOnly: boolean;
  /** True if the key was neither revoked since, nor has expired. */
  isKeyGood: () => boolean;
  /** Returns why the key may queue no job whose input has so many bytes and that asks for so long an execution timeout; undefined if it may. */
  refuse: (bytes: number, askedMs?: number) => HttpResponse | undefined;
  request: IncomingMessage;
  /** Asks for the body, of so many bytes at most: a client may wait for this, and has to go on sending from then on. */
  sendContinue: (maxBytes?: number) => void;
  /** Aborts when the client has gone, or was refused while its body came. */
  gone: AbortSignal;
}

/** Returns undefined if the asker has gone. Throws if the store cannot be used. */
export type AnswerOperation = (context: RequestContext) => Promise<HttpResponse | undefined>;

/** A function for each of these operations. */
export type OperationHandlers<Name extends OperationName> = { readonly [Each in Name]: AnswerOperation };

/** What reading a body needs. */
export type BodyContext = Pick<RequestContext, 'request' | 'sendContinue' | 'gone' | 'isKeyGood'>;

/** Returns the answer to a request whose key was revoked, or has expired, since the request began. */
export function keyEnded(): HttpResponse {
  const text = 'the API key was revoked or has expired since the request began';
  return refusal(401, text, { 'WWW-Authenticate': 'Bearer' });
}

/** The body's bytes, or why it is not accepted; undefined where the client has gone. */
export async function bodyOf(
  context: BodyContext,
  maxBytes: number,
): Promise<Buffer | HttpResponse | undefined> {
  const body = await readBody(context, maxBytes);
  // It may have taken an hour.
  return Buffer.isBuffer(body) && !context.isKeyGood() ? keyEnded() : body;
}

async function readBody(
  { request, sendContinue, gone }: BodyContext,
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
      // A request that breaks off later must not be an unhandled 'error'.
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
    // What was refused is not done, though all of it may still come.
    gone.addEventListener('abort', onGone);
  });
}
