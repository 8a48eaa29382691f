/** A request whose asker is known and may ask: what each operation is given. */
import type { IncomingMessage } from 'node:http';
import type { Endpoint } from './endpoint.ts';
import { type HttpResponse, refusal } from './http/http-response.ts';
import { readBody } from './http/read-body.ts';
import type { Route } from './routes.ts';

export interface RequestContext {
  route: Route;
  endpoint: Endpoint;
  /** The id of the key that it came with, which pays for it. */
  keyId: string;
  request: IncomingMessage;
  /** A client may wait for this before it sends its body. */
  sendContinue: () => void;
  /** Aborts when the client has gone. */
  gone: AbortSignal;
}

/** The body's bytes, or why it is not taken; undefined where the client has gone. */
export async function bodyOf(
  { request, sendContinue }: Pick<RequestContext, 'request' | 'sendContinue'>,
  maxBytes: number,
): Promise<Buffer | HttpResponse | undefined> {
  const body = await readBody(request, maxBytes, sendContinue);
  switch (body.kind) {
    case 'gone':
      return undefined;
    case 'too-large':
      return { ...refusal(400, 'exceeded max body size'), isBodyUnread: true };
    case 'read':
      return body.bytes;
  }
}
