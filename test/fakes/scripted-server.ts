/** A server on loopback that says exactly what a test tells it to, down to the bytes and the end of the connection. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';

export interface ReceivedRequest {
  method: string;
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** 1 for those of the first connection. */
  connection: number;
}

/** What is done with a request that has come whole. */
export type Script = (socket: Socket, request: ReceivedRequest) => void;

export interface ScriptedServer {
  url: string;
  port: number;
  requests: ReceivedRequest[];
  /** Resolves once so many requests have come. */
  received(count: number): Promise<void>;
}

export interface ScriptedOptions {
  host?: string;
  port?: number;
  tls?: { key: string; cert: string };
  /** What is done with a connection before anything has come over it. */
  onConnection?: (socket: Socket) => void;
}

/** Ends with the test. */
export async function scriptedServer(script: Script, options: ScriptedOptions = {}): Promise<ScriptedServer> {
  const { host = '127.0.0.1', port = 0, tls, onConnection } = options;
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const news = new EventTarget();
  const welcome = (socket: Socket): void => {
    sockets.add(socket);
    const connection = sockets.size;
    socket.on('error', () => undefined);
    onConnection?.(socket);
    readRequests(socket, (request) => {
      requests.push({ ...request, connection });
      script(socket, { ...request, connection });
      news.dispatchEvent(new Event('request'));
    });
  };
  const server: Server = tls === undefined ? createServer(welcome) : createTlsServer(tls, welcome);
  server.listen(port, host);
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http${tls === undefined ? '' : 's'}://${name}:${address.port}`,
    port: address.port,
    requests,
    received: async (count) => {
      while (requests.length < count) await once(news, 'request');
    },
  };
}

/** A whole answer, with its length, after which the connection stays open. */
export function answer(
  status: number,
  body: string | Buffer = '',
  headers: Record<string, string> = {},
): Script {
  return (socket) => {
    const all = { 'Content-Length': String(Buffer.byteLength(body)), ...headers };
    socket.write(Buffer.concat([Buffer.from(headOf(status, all)), Buffer.from(body)]));
  };
}

export function answerJson(value: unknown, status = 200): Script {
  return answer(status, JSON.stringify(value), { 'Content-Type': 'application/json' });
}

/** Status line and headers with the empty line behind them. */
export function headOf(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Said\r\n${lines.join('')}\r\n`;
}

/** Each request gets the next script; the last one stays. */
export function inTurn(...scripts: Script[]): Script {
  let next = 0;
  return (socket, request) => scripts[Math.min(next++, scripts.length - 1)]?.(socket, request);
}

function readRequests(
  socket: Socket,
  onRequest: (request: Omit<ReceivedRequest, 'connection'>) => void,
): void {
  let unread = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const headEnd = unread.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const [first = '', ...lines] = unread.toString('latin1', 0, headEnd).split('\r\n');
      const headers = Object.fromEntries(lines.map(readHeader));
      const end = headEnd + 4 + Number(headers['content-length'] ?? 0);
      if (unread.length < end) return;
      const body = unread.toString('utf8', headEnd + 4, end);
      unread = unread.subarray(end);
      const [method = '', path = ''] = first.split(' ');
      onRequest({ method, path, headers, body });
    }
  });
}

function readHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
