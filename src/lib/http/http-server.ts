/** An HTTP server: its connections, their limits, TLS, and putting answers on the wire. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeFilesOf } from '../files/filed-text.ts';
import { BodyWatch } from './body-watch.ts';
import { type HttpResponse, errorBody, refusal } from './http-response.ts';
import { type ClientLimits, sendAnswer } from './send-response.ts';
import { followTls, readTls, type TlsFiles } from './tls-files.ts';

/** Resolves to the response; undefined where the client has gone. A rejection is an error of the service itself. */
export type AnswerRequest = (
  request: IncomingMessage,
  sendContinue: (maxBytes?: number) => void,
  /** Aborts when the client has gone, or was refused while its body came: what is not done by then is not to be done. */
  gone: AbortSignal,
) => Promise<HttpResponse | undefined>;

export interface HttpServerOptions {
  host: string;
  port: number;
  /** Undefined for plain HTTP. */
  tls: TlsFiles | undefined;
  now: () => number;
  maxConnections: number;
  /** Decides which connection is closed if there are too many. By default every new one is closed while `maxConnections` are open. */
  connections?: ConnectionBook;
  /** Requests of one connection that may wait until those before them are answered; a connection with more is closed. */
  maxWaiting?: number;
  /** Of the long bodies that are in memory at a time. */
  maxBodiesBytes: number;
  /** A body of which nothing arrives for so long is refused. */
  requestTimeoutMs: number;
  /** A body that takes longer than this is refused. */
  bodyTimeMs: number;
  clientLimits: ClientLimits;
  answerRequest: AnswerRequest;
  /** Returns the answer after a rejection of `answerRequest`. */
  answerError: (error: unknown) => HttpResponse;
  onProblem: (text: string) => void;
}

/** Notes the connections of one or several servers. */
export interface ConnectionBook {
  add(socket: Socket): void;
  /** The latest request of a connection was answered. */
  end(request: IncomingMessage): void;
}

export interface HttpServer {
  url: string;
  /** That the certificate in use holds for. */
  certifiedNames(): readonly string[];
  /** Takes no more connections. */
  stopListening(): void;
  /** Ends the connections there are as well, once the answers that are on their way have arrived or had their time. */
  close(): Promise<void>;
}

const maxHeaderSize = 16 * 1024;

/** How long browsers use HTTPS alone after an answer: 30 days. */
const strictSeconds = 30 * 86_400;

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const queues = new RequestQueues(options.maxWaiting ?? defaultMaxWaiting);
  const { server, certifiedNames, stopFollowing } = openServer(options);
  const { connections } = options;
  if (connections === undefined) server.maxConnections = options.maxConnections;
  else server.on('connection', (socket) => connections.add(socket));
  server.timeout = options.clientLimits.idleMs;
  const watch = new BodyWatch(bodyLimits(options));
  const looking = setInterval(() => watch.look(performance.now()), options.clientLimits.checkEveryMs).unref();
  const isStrict = options.tls !== undefined && options.tls.hsts !== false;
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (isStrict) response.setHeader('Strict-Transport-Security', `max-age=${strictSeconds}`);
    // Before the next request of the connection begins.
    response.once('close', () => connections?.end(request));
    queues.add(response, () => void serveRequest(request, response, watch, options));
  };
  server.on('request', serve).on('checkContinue', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const { drainMs } = options.clientLimits;
    const before = queues.of(socket).filter(isOwedToAnother);
    if (!socket.writable || before.some(({ req }) => !req.complete)) socket.destroy();
    else if (before.length > 0) before.at(-1)?.once('close', () => endConnection(socket, drainMs));
    else endConnection(socket, drainMs, connectionRefusal(error.code));
  });
  await listen(server, options);
  server.once('close', () => {
    stopFollowing();
    clearInterval(looking);
  });
  const url = urlOf(server.address() as AddressInfo, options.tls === undefined ? 'http' : 'https');
  return { url, certifiedNames, ...closingOf(server, queues, watch, options.clientLimits.closingMs) };
}

/** Throws `TlsProblem`. */
function openServer(
  options: HttpServerOptions,
): Pick<HttpServer, 'certifiedNames'> & { server: Server; stopFollowing: () => void } {
  const { tls, clientLimits, now, onProblem } = options;
  const common = { ...serverOptions(options), maxHeaderSize, keepAlive: true };
  if (tls === undefined)
    return { server: createServer(common), certifiedNames: () => [], stopFollowing: () => undefined };
  const pair = readTls(tls, now());
  if (pair.problem !== undefined) onProblem(pair.problem);
  const { cert, key } = pair;
  const server = createTlsServer({ ...common, cert, key, handshakeTimeout: clientLimits.headMs });
  const stopFollowing = followTls(server, tls, pair, {
    everyMs: clientLimits.checkEveryMs,
    now,
    onProblem,
  });
  return { server, certifiedNames: () => pair.names, stopFollowing };
}

function serverOptions({ requestTimeoutMs, clientLimits }: HttpServerOptions) {
  return {
    // Bodies are watched here.
    requestTimeout: 0,
    headersTimeout: Math.min(clientLimits.headMs, requestTimeoutMs),
    keepAliveTimeout: clientLimits.keepAliveMs,
    connectionsCheckingInterval: clientLimits.checkEveryMs,
  };
}

/** Slow bodies take half of the connections and of the memory for bodies, and leave the rest to the others. */
function bodyLimits({
  requestTimeoutMs,
  bodyTimeMs: maxMs,
  clientLimits,
  maxConnections,
  maxBodiesBytes,
}: HttpServerOptions) {
  return {
    maxMs,
    silenceMs: requestTimeoutMs,
    bytesPerSecond: clientLimits.bytesSentPerSecond,
    slowMs: clientLimits.slowMs,
    maxSlow: Math.ceil(maxConnections / 2),
    maxSlowBytes: Math.ceil(maxBodiesBytes / 2),
    everyMs: clientLimits.checkEveryMs,
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
  watch: BodyWatch,
  { answerRequest, answerError, onProblem, clientLimits, requestTimeoutMs }: HttpServerOptions,
): Promise<void> {
  if (hasSeveralHosts(request)) {
    response.shouldKeepAlive = false;
    return await sendAnswer(request, response, severalHosts, clientLimits);
  }
  const gone = new AbortController();
  // Whoever was answered is waited for by nobody; to abort costs as much as a good part of a short answer.
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const isAskedFirst = request.headers.expect !== undefined;
  // Whether the client goes on to send a body it was not asked for cannot be known: the connection is of no more use.
  if (isAskedFirst) response.shouldKeepAlive = false;
  try {
    const sendContinue = (maxBytes = 0): void => {
      if (isAskedFirst) response.writeContinue();
      // Silence is answered in words, before the connection is cut for it.
      request.setTimeout(Math.max(clientLimits.idleMs, 2 * requestTimeoutMs));
      const bytes = Number(request.headers['content-length'] ?? maxBytes);
      const refuse = (why: HttpResponse): void => {
        if (response.headersSent) return;
        gone.abort(why);
        void sendAnswer(request, response, why, clientLimits);
      };
      const { remove } = watch.add(request, { bytes, refuse }, performance.now());
      response.once('close', remove);
    };
    const answer = await answerRequest(request, sendContinue, gone.signal);
    if (response.headersSent) await closeFilesOf(answer?.body);
    else if (answer === undefined) response.destroy();
    else await sendAnswer(request, response, answer, clientLimits);
  } catch (error) {
    onProblem(`cannot answer ${request.method} ${JSON.stringify(request.url)}: ${String(error)}`);
    if (response.headersSent) response.destroy();
    else await sendAnswer(request, response, answerError(error), clientLimits);
  }
}

const severalHosts = refusal(400, 'the request has more than one Host header');

/** True if a proxy may have judged the request by another host than this server would (RFC 9112, 3.2). */
function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
  return hosts > 1;
}

/** `lastWords` as they go over the wire; the client has `drainMs` to read them. */
function endConnection(socket: Socket, drainMs: number, lastWords = ''): void {
  const timer = setTimeout(() => socket.destroy(), drainMs).unref();
  socket.once('close', () => clearTimeout(timer)).end(lastWords);
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
  watch: BodyWatch,
  closingMs: number,
): Pick<HttpServer, 'stopListening' | 'close'> {
  let closed: Promise<void> | undefined;
  const stopListening = () => (closed ??= new Promise((resolve) => server.close(() => resolve())));
  return {
    stopListening: () => void stopListening(),
    close: async () => {
      const whenClosed = stopListening();
      watch.refuseAll(stopping);
      await untilAnswered(queues);
      const onTheirWay = queues.all.filter((response) => response.headersSent);
      for (const response of queues.all) if (!response.headersSent) response.destroy();
      const ends = onTheirWay.map((response) => once(response, 'close'));
      await Promise.race([Promise.all(ends), sleep(closingMs, undefined, { ref: false })]);
      server.closeAllConnections();
      return await whenClosed;
    },
  };
}

/** Whoever waited has been told to look for the last time. */
const answeringMs = 1_000;

/** Waits until each request has its answer; those that get none are cut. */
async function untilAnswered(queues: RequestQueues): Promise<void> {
  const until = performance.now() + answeringMs;
  for (;;) {
    const waiting = queues.all.filter((response) => !response.headersSent);
    if (waiting.length === 0 || performance.now() > until) return;
    // Nobody asks again on a connection that ends.
    for (const response of waiting) response.shouldKeepAlive = false;
    await sleep(answeringMs / 100);
  }
}

const stopping = refusal(503, 'the service is stopping; nothing was done, send it again', {
  'Retry-After': '5',
});

interface Asked {
  response: ServerResponse;
  begin: () => void;
}

/** No client pipelines so many requests, and each takes some kilobytes. */
const defaultMaxWaiting = 1_000;

class RequestQueues {
  readonly #maxWaiting: number;
  readonly #queues = new Map<Socket, Asked[]>();

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Calls `begin` once the requests before it on its connection are answered; never where the client has gone by then.
   * A connection on which too many wait is cut.
   */
  add(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const queue = this.#queueOf(socket);
    if (queue.length > this.#maxWaiting) return void socket.destroy();
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
