/** The service's HTTP side: connections, their limits, and putting answers on the wire. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDiskFull } from '../jobs/disk-reserve.ts';
import { type HttpResponse, errorBody, refusal } from './http-response.ts';
import { type ClientLimits, sendAnswer } from './send-response.ts';
import { followTls, readTls, type TlsFiles } from './tls-files.ts';

/** Resolves to the response; undefined where the client has gone. A rejection is an error of the service itself. */
export type AnswerRequest = (
  request: IncomingMessage,
  sendContinue: () => void,
  /** Aborts when the client has gone. */
  gone: AbortSignal,
) => Promise<HttpResponse | undefined>;

export interface HttpServerOptions {
  host: string;
  port: number;
  /** Undefined for plain HTTP. */
  tls: TlsFiles | undefined;
  now: () => number;
  maxConnections: number;
  /** A request that has not arrived by then is cut off. */
  requestTimeoutMs: number;
  clientLimits: ClientLimits;
  answerRequest: AnswerRequest;
  onProblem: (text: string) => void;
}

export interface HttpServer {
  url: string;
  /** Takes no more connections. */
  stopListening(): void;
  /** Ends the connections there are as well, once the answers that are on their way have arrived or had their time. */
  close(): Promise<void>;
}

const maxHeaderSize = 16 * 1024;

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const queues = new RequestQueues();
  const { server, stopFollowing } = openServer(options);
  server.maxConnections = options.maxConnections;
  server.timeout = options.clientLimits.idleMs;
  const serve = (request: IncomingMessage, response: ServerResponse) =>
    queues.add(response, () => void serveRequest(request, response, options));
  server.on('request', serve).on('checkContinue', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const { drainMs } = options.clientLimits;
    const before = queues.of(socket).filter(isOwedToAnother);
    if (!socket.writable || before.some(({ req }) => !req.complete)) socket.destroy();
    else if (before.length > 0) before.at(-1)?.once('close', () => endConnection(socket, drainMs));
    else endConnection(socket, drainMs, connectionRefusal(error.code));
  });
  await listen(server, options);
  const { closingMs } = options.clientLimits;
  server.once('close', stopFollowing);
  const url = urlOf(server.address() as AddressInfo, options.tls === undefined ? 'http' : 'https');
  return { url, ...closingOf(server, queues, closingMs) };
}

/** Throws `TlsProblem`. */
function openServer(options: HttpServerOptions): { server: Server; stopFollowing: () => void } {
  const { tls, clientLimits, now, onProblem } = options;
  const common = { ...serverOptions(options), maxHeaderSize, keepAlive: true };
  if (tls === undefined) return { server: createServer(common), stopFollowing: () => undefined };
  const pair = readTls(tls, now());
  if (pair.problem !== undefined) onProblem(pair.problem);
  const { cert, key } = pair;
  const server = createTlsServer({ ...common, cert, key, handshakeTimeout: clientLimits.headMs });
  const stopFollowing = followTls(server, tls, { everyMs: clientLimits.checkEveryMs, now, onProblem });
  return { server, stopFollowing };
}

function serverOptions({ requestTimeoutMs, clientLimits }: HttpServerOptions) {
  return {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(clientLimits.headMs, requestTimeoutMs),
    keepAliveTimeout: clientLimits.keepAliveMs,
    connectionsCheckingInterval: clientLimits.checkEveryMs,
  };
}

/** Whether what the connection would be told is taken for the answer to a request that is being answered. */
function isOwedToAnother(response: ServerResponse): boolean {
  return response.headersSent || response.req.complete;
}

function listen(server: Server, { host, port }: HttpServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function urlOf({ address, family, port }: AddressInfo, protocol: 'http' | 'https'): string {
  return `${protocol}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function serveRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { answerRequest, onProblem, clientLimits }: HttpServerOptions,
): Promise<void> {
  const gone = new AbortController();
  // Whoever was answered is waited for by nobody; to abort costs as much as a good part of a short answer.
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const isAskedFirst = request.headers.expect !== undefined;
  // Whether the client goes on to send a body it was not asked for cannot be known: the connection is of no more use.
  if (isAskedFirst) response.shouldKeepAlive = false;
  try {
    const sendContinue = (): void => void (isAskedFirst && response.writeContinue());
    const answer = await answerRequest(request, sendContinue, gone.signal);
    if (answer === undefined) response.destroy();
    else await sendAnswer(request, response, answer, clientLimits);
  } catch (error) {
    onProblem(`cannot answer ${request.method} ${request.url}: ${String(error)}`);
    if (response.headersSent) response.destroy();
    else await sendAnswer(request, response, refusalOf(error), clientLimits);
  }
}

function refusalOf(error: unknown): HttpResponse {
  return isDiskFull(error)
    ? refusal(507, 'the disk of the service is full: nothing was changed')
    : refusal(500, 'internal error');
}

/** `lastWords` as they go over the wire; the client has `drainMs` to read them. */
function endConnection(socket: Socket, drainMs: number, lastWords = ''): void {
  socket.setTimeout(drainMs);
  socket.end(lastWords);
}

/** For what is no HTTP request at all, or one that does not come to its end. */
function connectionRefusal(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW')
    return refusalText('431 Request Header Fields Too Large', 'the headers are too large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return refusalText('408 Request Timeout', 'the request took too long to arrive');
  return refusalText('400 Bad Request', 'this is not an HTTP request');
}

function refusalText(status: string, text: string): string {
  const body = errorBody(text);
  return (
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

function closingOf(
  server: Server,
  queues: RequestQueues,
  closingMs: number,
): Pick<HttpServer, 'stopListening' | 'close'> {
  let closed: Promise<void> | undefined;
  const stopListening = () => (closed ??= new Promise((resolve) => server.close(() => resolve())));
  return {
    stopListening: () => void stopListening(),
    close: async () => {
      const whenClosed = stopListening();
      const onTheirWay = queues.all.filter((response) => response.headersSent);
      for (const response of queues.all) if (!response.headersSent) response.destroy();
      const ends = onTheirWay.map((response) => once(response, 'close'));
      await Promise.race([Promise.all(ends), sleep(closingMs, undefined, { ref: false })]);
      server.closeAllConnections();
      return await whenClosed;
    },
  };
}

interface Asked {
  response: ServerResponse;
  begin: () => void;
}

/** Of a connection: no client pipelines so many, and each takes some kilobytes. */
const maxWaiting = 1_000;

class RequestQueues {
  readonly #queues = new Map<Socket, Asked[]>();

  /**
   * Calls `begin` once the requests before it on its connection are answered; never where the client has gone by then.
   * A connection on which too many wait is cut.
   */
  add(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const queue = this.#queueOf(socket);
    if (queue.length > maxWaiting) return void socket.destroy();
    queue.push({ response, begin });
    response.once('close', () => {
      queue.shift();
      if (!socket.destroyed) queue[0]?.begin();
    });
    if (queue.length === 1) begin();
  }

  /** What is not answered to its end, in the order of the requests. */
  of(socket: Socket): ServerResponse[] {
    return (this.#queues.get(socket) ?? []).map(({ response }) => response);
  }

  get all(): ServerResponse[] {
    return [...this.#queues.keys()].flatMap((socket) => this.of(socket));
  }

  #queueOf(socket: Socket): Asked[] {
    const known = this.#queues.get(socket);
    if (known !== undefined) return known;
    const queue: Asked[] = [];
    this.#queues.set(socket, queue);
    // Those that were not begun have no end of their own.
    socket.once('close', () => this.#queues.delete(socket));
    return queue;
  }
}
