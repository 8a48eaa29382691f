/** A server on loopback that sends exactly the bytes of a test, and ends connections where the test says. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';

export interface ReceivedRequest {
  method: string;
  path: string;
  /** Headers by name in lower case. */
  headers: Record<string, string>;
  body: string;
  /** Number of the connection, from 1. */
  connection: number;
}

/** Answers a request that was received completely. */
export type Script = (socket: Socket, request: ReceivedRequest) => void;

export interface ScriptedServer {
  url: string;
  port: number;
  requests: ReceivedRequest[];
  /** Resolves when this number of requests was received. */
  received(count: number): Promise<void>;
}

export interface ScriptedOptions {
  host?: string;
  port?: number;
  tls?: { key: string; cert: string };
  /** Called for each connection before anything was received. */
  onConnection?: (socket: Socket) => void;
}

/** Starts the server, which stops when the test ends. */
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

/** Returns a script that sends a complete answer with its length and keeps the connection open. */
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

/** Returns the status line and headers with the empty line after them. */
export function headOf(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Said\r\n${lines.join('')}\r\n`;
}

/** Returns a script that uses the next of these scripts for each request. The last one is repeated. */
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
