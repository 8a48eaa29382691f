/** Reads the body of a request into memory, up to a limit. */
import type { IncomingMessage } from 'node:http';
import { JoinedBytes } from '../limits.ts';
import { type HttpResponse, refusal } from './http-response.ts';

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
