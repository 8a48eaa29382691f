/** Authorised request, as operations get it, and functions that read its body. */
import type { IncomingMessage } from 'node:http';
import { readBody } from '../../lib/http/request-body.ts';
import type { OperationName, ServiceOperationName } from '../../protocol/operations.ts';
import type { Route } from '../../protocol/paths.ts';
import type { Endpoint } from '../workers/endpoint.ts';
import { type HttpResponse, refusal } from '../../lib/http/http-response.ts';

export interface RequestContext {
  route: Route;
  endpoint: Endpoint;
  keyId: string;
  hasOwnJobsOnly: boolean;
  /** Returns true if the key is still valid: neither revoked nor expired. */
  isKeyGood: () => boolean;
  /** Returns a refusal if the key may not queue a job of this size and execution timeout; undefined if it may. */
  refuse: (bytes: number, askedMs?: number) => HttpResponse | undefined;
  request: IncomingMessage;
  /** Asks the client for the body (`100 Continue`) and limits the time it may take. `maxBytes`: its maximum size. */
  sendContinue: (maxBytes?: number) => void;
  /** Aborts when the client has disconnected, or was refused while its body arrived. */
  gone: AbortSignal;
}

/** Answers a request. Returns undefined if the client has disconnected. Throws if the job store cannot be used. */
export type AnswerOperation = (context: RequestContext) => Promise<HttpResponse | undefined>;

export type OperationHandlers<Name extends OperationName> = { readonly [Each in Name]: AnswerOperation };

export type ServiceHandlers = { readonly [Each in ServiceOperationName]: () => HttpResponse };

/** Parts of a request that are needed to read its body. */
export type BodyContext = Pick<RequestContext, 'request' | 'sendContinue' | 'gone' | 'isKeyGood'>;

/** Returns the answer to a request whose key was revoked or expired after the request began. */
export function keyEnded(): HttpResponse {
  const text = 'the API key was revoked or has expired since the request began';
  return refusal(401, text, { 'WWW-Authenticate': 'Bearer' });
}

/** Reads the body. Returns a refusal if it is not accepted, or undefined if the client has disconnected. */
export async function bodyOf(
  context: BodyContext,
  maxBytes: number,
): Promise<Buffer | HttpResponse | undefined> {
  const body = await readBody(context, maxBytes);
  // The upload may have taken an hour, so the key is checked again.
  return Buffer.isBuffer(body) && !context.isKeyGood() ? keyEnded() : body;
}
