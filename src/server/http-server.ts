/** The service's HTTP side: connections, their limits, and putting answers on the wire. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import Sqlite from 'better-sqlite3';
import { type Answer, refusal } from './answer.ts';
import type { FaultPlan } from './faults/fault-plan.ts';

/** Resolves to the answer; undefined where nobody listens any more. A rejection is an error of the service's own. */
type AnswerRequest = (
  request: IncomingMessage,
  askForBody: () => void,
  /** Aborts when the client has gone. */
  gone: AbortSignal,
) => Promise<Answer | undefined>;

export interface HttpServerOptions {
  host: string;
  port: number;
  maxConnections: number;
  /** A request that has not arrived by then is cut off. */
  requestTimeoutMs: number;
  answerRequest: AnswerRequest;
  onTrouble: (text: string) => void;
  /** What goes wrong on purpose; undefined where nothing does. */
  faults?: FaultPlan | undefined;
}

export interface HttpServer {
  url: string;
  /** Takes no more connections. */
  stopListening(): void;
  /** Ends the connections there are as well. */
  close(): Promise<void>;
}

const longestHeadersMs = 10_000;

const limits = {
  /** Longer than clients keep an idle connection, so that they and not the service close it. */
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16 * 1024,
};

/** A connection on which nothing moves is closed, whoever should be sending. */
const idleMs = 120_000;

/** How long a client that is refused may go on sending, so that it comes to read why. */
const drainMs = 2_000;

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const answering = new WeakMap<Socket, ServerResponse>();
  const { maxConnections, requestTimeoutMs: requestTimeout } = options;
  const headersTimeout = Math.min(longestHeadersMs, requestTimeout);
  const server = createServer({ ...limits, requestTimeout, headersTimeout, keepAlive: true });
  server.maxConnections = maxConnections;
  server.timeout = idleMs;
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    answering.set(request.socket, response);
    response.once('close', () => answering.delete(request.socket));
    void serveRequest(request, response, options);
  };
  server.on('request', serve).on('checkContinue', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || isOwedToAnother(answering.get(socket))) socket.destroy();
    else refuseConnection(socket, error.code);
  });
  await listen(server, options);
  return { url: urlOf(server.address() as AddressInfo), ...closingOf(server) };
}

/** Whether what the connection would be told is taken for the answer to a request that is being answered. */
function isOwedToAnother(response: ServerResponse | undefined): boolean {
  return response !== undefined && (response.headersSent || response.req.complete);
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

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function serveRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { answerRequest, onTrouble, faults }: HttpServerOptions,
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
    const fault = faults?.answer(request);
    if (fault?.isInstead === true) return fault.send(response);
    const askForBody = (): void => void (isAskedFirst && response.writeContinue());
    const honest = await answerRequest(request, askForBody, gone.signal);
    if (honest === undefined) return void response.destroy();
    const answer = faults?.told(request, honest) ?? honest;
    if (fault === undefined || honest.isBodyUnread) send(request, response, answer);
    else fault.send(response, answer);
  } catch (error) {
    onTrouble(`cannot answer ${request.method} ${request.url}: ${String(error)}`);
    send(request, response, refusalOf(error));
  }
}

function refusalOf(error: unknown): Answer {
  const isFull = error instanceof Sqlite.SqliteError && error.code === 'SQLITE_FULL';
  return isFull ? refusal(507, 'the service has no space left on its disk') : refusal(500, 'internal error');
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (response.destroyed) return;
  if (answer.isBodyUnread) response.shouldKeepAlive = false;
  response.writeHead(answer.status, {
    ...(answer.status !== 204 && {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(answer.body),
    }),
    'Cache-Control': 'no-store',
    ...answer.headers,
  });
  if (answer.isBodyUnread) sendWhileDraining(request, response, answer.body);
  else response.end(answer.body);
}

/**
 * Closing a connection with unread bytes in it resets it, and the client may never read the answer. So the answer goes
 * out at once, and what still comes is thrown away until the client is done or its time is up.
 */
function sendWhileDraining(request: IncomingMessage, response: ServerResponse, body: string | Buffer): void {
  response.write(body);
  const finish = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(finish, drainMs).unref();
  request.once('end', finish).once('close', finish);
  request.resume();
}

/** For what is no HTTP request at all, or one that does not come to its end. */
function refuseConnection(socket: Socket, code: string | undefined): void {
  const { status, reason, text } = connectionRefusal(code);
  const { body } = refusal(status, text);
  socket.setTimeout(drainMs);
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body.toString()}`,
  );
}

function connectionRefusal(code: string | undefined): { status: number; reason: string; text: string } {
  if (code === 'HPE_HEADER_OVERFLOW')
    return { status: 431, reason: 'Request Header Fields Too Large', text: 'the headers are too large' };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, reason: 'Request Timeout', text: 'the request took too long to arrive' };
  return { status: 400, reason: 'Bad Request', text: 'this is not an HTTP request' };
}

function closingOf(server: Server): Pick<HttpServer, 'stopListening' | 'close'> {
  let closed: Promise<void> | undefined;
  const stopListening = () => (closed ??= new Promise((resolve) => server.close(() => resolve())));
  return {
    stopListening: () => void stopListening(),
    close: () => {
      const whenClosed = stopListening();
      server.closeAllConnections();
      return whenClosed;
    },
  };
}
