/** An authorised request, as each operation is given it, and reading its body. */
import type { IncomingMessage } from 'node:http';
import type { Endpoint } from './endpoint.ts';
import { type HttpResponse, refusal } from './http/http-response.ts';
import type { Route } from './routes.ts';

export interface RequestContext {
  route: Route;
  endpoint: Endpoint;
  /** The id of the key that it came with, which pays for it. */
  keyId: string;
  /** Whether the key has not been revoked since. */
  isKeyGood: () => boolean;
  request: IncomingMessage;
  /** A client may wait for this before it sends its body. */
  sendContinue: () => void;
  /** Aborts when the client has gone. */
  gone: AbortSignal;
}

/** The body's bytes, or why it is not accepted; undefined where the client has gone. */
export async function bodyOf(
  { request, sendContinue }: Pick<RequestContext, 'request' | 'sendContinue'>,
  maxBytes: number,
): Promise<Buffer | HttpResponse | undefined> {
  const tooLarge: HttpResponse = {
    ...refusal(400, `exceeded max body size of ${maxBytes} bytes`),
    isBodyUnread: true,
  };
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return tooLarge;
  // A client may wait for this before it sends.
  sendContinue();
  return await new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let byteCount = 0;
    const finish = (result: Buffer | HttpResponse | undefined) => {
      request.pause();
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      // A request that breaks off later must not be an unhandled 'error'.
      request.on('error', () => undefined);
      chunks = [];
      resolve(result);
    };
    const onData = (chunk: Buffer) => {
      byteCount += chunk.length;
      if (byteCount > maxBytes) finish(tooLarge);
      else chunks.push(chunk);
    };
    const onEnd = () => finish(Buffer.concat(chunks, byteCount));
    const onGone = () => finish(undefined);
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
  });
}
