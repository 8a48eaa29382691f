/** An HTTP server: its connections and their limits, TLS, the order of responses, and the host names under which it answers browsers. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, type Socket, isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeFilesOf } from '../files/filed-text.ts';
import { type ClientLimits, errorBody, type HttpResponse, refusal, sendAnswer } from './http-response.ts';
import { BodyWatch } from './request-body.ts';
import { followTls, readTls, type TlsFiles } from './tls-files.ts';

/** Resolves to the response, or to undefined if the client has gone. Rejects only for errors of the service itself. */
export type AnswerRequest = (
  request: IncomingMessage,
  sendContinue: (maxBytes?: number) => void,
  /** Aborts if the client has gone or was refused. Anything not done by then must not be done. */
  gone: AbortSignal,
) => Promise<HttpResponse | undefined>;

export interface HttpServerOptions {
  host: string;
  port: number;
  /** Undefined for plain HTTP. */
  tls: TlsFiles | undefined;
  now: () => number;
  /** Monotonic clock in ms, which measures how long bodies take. */
  elapsed: () => number;
  maxConnections: number;
  /** Decides which connection is closed if there are too many. By default, new ones are. */
  connections?: ConnectionBook;
  /** Maximum requests of a connection that wait for earlier ones. A connection with more is closed. */
  maxWaiting?: number;
  maxBodiesBytes: number;
  /** A body is refused if nothing arrives for this long. */
  requestTimeoutMs: number;
  /** A body that takes longer than this is refused. */
  bodyTimeMs: number;
  clientLimits: ClientLimits;
  answerRequest: AnswerRequest;
  /** Returns the answer after a rejection of `answerRequest`. */
  answerError: (error: unknown) => HttpResponse;
  onProblem: (text: string) => void;
}

/** Tracks the connections of one or several servers. */
export interface ConnectionBook {
  add(socket: Socket): void;
  /** Called when the latest request of a connection was answered. */
  end(request: IncomingMessage): void;
}

export interface HttpServer {
  url: string;
  /** Returns the host names of the certificate in use. */
  certifiedNames(): readonly string[];
  /** Accepts no more connections. */
  stopListening(): void;
  /** Also ends open connections, after responses on their way have arrived or run out of time. */
  close(): Promise<void>;
}

const maxHeaderSize = 16 * 1024;

/** How long browsers use only HTTPS after a response: 30 days, in seconds. */
const strictSeconds = 30 * 86_400;

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const queues = new RequestQueues(options.maxWaiting ?? defaultMaxWaiting);
  const { server, certifiedNames, stopFollowing } = openServer(options);
  const { connections } = options;
  if (connections === undefined) server.maxConnections = options.maxConnections;
  else server.on('connection', (socket) => connections.add(socket));
  server.timeout = options.clientLimits.idleMs;
  const watch = new BodyWatch(bodyLimits(options));
  const looking = setInterval(() => watch.look(options.elapsed()), options.clientLimits.checkEveryMs).unref();
  const isStrict = options.tls !== undefined && options.tls.hsts !== false;
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (isStrict) response.setHeader('Strict-Transport-Security', `max-age=${strictSeconds}`);
    // This listener has to run before the next request of the connection begins.
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

function serverOptions({ clientLimits }: HttpServerOptions) {
  return {
    // `BodyWatch` limits the time of bodies.
    requestTimeout: 0,
    headersTimeout: clientLimits.headMs,
    keepAliveTimeout: clientLimits.keepAliveMs,
    connectionsCheckingInterval: clientLimits.checkEveryMs,
  };
}

/** Gives slow bodies half of the connections and of the memory for bodies. */
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

/** True if the client would take a message on the connection as the response to a request in progress. */
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
  { answerRequest, answerError, onProblem, clientLimits, requestTimeoutMs, elapsed }: HttpServerOptions,
): Promise<void> {
  if (hasSeveralHosts(request)) {
    response.shouldKeepAlive = false;
    return await sendAnswer(request, response, severalHosts, clientLimits);
  }
  const gone = new AbortController();
  // Nobody waits for an answered request, and aborting costs as much as a good part of a short response.
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const isAskedFirst = request.headers.expect !== undefined;
  // A client may or may not send a body that it was not asked for, so the connection cannot be used again.
  if (isAskedFirst) response.shouldKeepAlive = false;
  try {
    const sendContinue = (maxBytes = 0): void => {
      if (isAskedFirst) response.writeContinue();
      // A silent client gets a response before its connection is cut.
      request.setTimeout(Math.max(clientLimits.idleMs, 2 * requestTimeoutMs));
      const bytes = Number(request.headers['content-length'] ?? maxBytes);
      const refuse = (why: HttpResponse): void => {
        if (response.headersSent) return;
        gone.abort(why);
        void sendAnswer(request, response, why, clientLimits);
      };
      const { remove } = watch.add(request, { bytes, refuse }, elapsed());
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

/** Sends `lastWords` unchanged. The client has `drainMs` to read them. */
function endConnection(socket: Socket, drainMs: number, lastWords = ''): void {
  const timer = setTimeout(() => socket.destroy(), drainMs).unref();
  socket.once('close', () => clearTimeout(timer)).end(lastWords);
}

/** Returns the response to something that is no HTTP request, or an incomplete one. */
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

/** Time for waiting requests to be answered once more. */
const answeringMs = 1_000;

/** Waits until each request has its response. Requests without one are cut. */
async function untilAnswered(queues: RequestQueues): Promise<void> {
  const until = performance.now() + answeringMs;
  for (;;) {
    const waiting = queues.all.filter((response) => !response.headersSent);
    if (waiting.length === 0 || performance.now() > until) return;
    // No further request comes on a connection that ends.
    for (const response of waiting) response.shouldKeepAlive = false;
    await sleep(answeringMs / 100);
  }
}

const stopping = refusal(503, 'the service is stopping; nothing was done, send it again', {
  'Retry-After': '5',
});

interface WaitingRequest {
  response: ServerResponse;
  begin: () => void;
}

/** No client pipelines so many requests, and each takes some kilobytes. */
const defaultMaxWaiting = 1_000;

class RequestQueues {
  readonly #maxWaiting: number;
  readonly #queues = new Map<Socket, WaitingRequest[]>();

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Calls `begin` after earlier requests of the connection. Cuts a connection with too many waiting ones. */
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

  /** Returns the unfinished responses, in the order of the requests. */
  of(socket: Socket): ServerResponse[] {
    return (this.#queues.get(socket) ?? []).map(({ response }) => response);
  }

  get all(): ServerResponse[] {
    return [...this.#queues.keys()].flatMap((socket) => this.of(socket));
  }

  #queueOf(socket: Socket): WaitingRequest[] {
    const known = this.#queues.get(socket);
    if (known !== undefined) return known;
    const queue: WaitingRequest[] = [];
    this.#queues.set(socket, queue);
    // Requests that were not begun have no `close` event of their own.
    socket.once('close', () => this.#queues.delete(socket));
    return queue;
  }
}

/** Host names under which a server answers browsers, as protection against DNS rebinding by other sites. */
export class KnownNames {
  readonly #names: readonly string[];
  readonly #certified: () => readonly string[];
  readonly #isKnownAddress: (address: string) => boolean;

  /**
   * `names` are written as in URLs; `*.example.com` stands for any one label before `.example.com`. `localhost` is always known.
   * `certified` returns the names of the certificate, which may be renewed. By default every address is known, because no other
   * site can be called by an address.
   */
  constructor(
    names: readonly string[],
    {
      certified = () => [],
      isKnownAddress = () => true,
    }: { certified?: () => readonly string[]; isKnownAddress?: (address: string) => boolean } = {},
  ) {
    this.#names = ['localhost', ...names];
    this.#certified = certified;
    this.#isKnownAddress = isKnownAddress;
  }

  /** True if requests with this `Host` header may be answered. A missing header is accepted, because browsers always send one. */
  has(host: string | undefined): boolean {
    const name = nameIn(host ?? '');
    if (isIP(name) !== 0) return this.#isKnownAddress(name);
    if (name === '' || name.endsWith('.localhost')) return true;
    const known = new Set([...this.#names, ...this.#certified()].map(canonical));
    return known.has(name) || known.has(name.replace(/^[^.]+/, '*'));
  }
}

/** Returns the lower-case name in a `Host` header, such as `localhost:4747`, `[::1]:4747` or `render.example.`. */
export function nameIn(host: string): string {
  const [, inBrackets, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))/.exec(host) ?? [];
  return canonical(inBrackets ?? name);
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
