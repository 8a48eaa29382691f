/** Reading a request's body up to a limit. */
import type { IncomingMessage } from 'node:http';

export type ReadBody =
  | { kind: 'read'; bytes: Buffer }
  /** The rest is unread, and nothing of it is kept. */
  | { kind: 'too-large' }
  /** The client went away in the middle. */
  | { kind: 'gone' };

/**
 * Never rejects. `maxBytes` is counted as they come; a declared length above it is believed at once. `sendContinue` is
 * called before anything is read: a client may wait for that before it sends.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  sendContinue: () => void,
): Promise<ReadBody> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes)
    return Promise.resolve({ kind: 'too-large' });
  sendContinue();
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let byteCount = 0;
    const finish = (result: ReadBody) => {
      request.pause();
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      // A request that breaks off later must not be an unheard 'error'.
      request.on('error', () => undefined);
      chunks = [];
      resolve(result);
    };
    const onData = (chunk: Buffer) => {
      byteCount += chunk.length;
      if (byteCount > maxBytes) finish({ kind: 'too-large' });
      else chunks.push(chunk);
    };
    const onEnd = () => finish({ kind: 'read', bytes: Buffer.concat(chunks, byteCount) });
    const onGone = () => finish({ kind: 'gone' });
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
  });
}
