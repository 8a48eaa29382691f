/** The server of the page that watches a batch: on loopback, and read only. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Page } from '../../lib/net/built-page.ts';
import { answer, type Served } from './answer.ts';
import { startBroadcast, type WatchedBatch } from './broadcast.ts';

export interface WatchServer {
  /** With a slash at the end. */
  url: string;
  close(): Promise<void>;
}

const limits = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16 * 1024,
};

/** More are closed at once: each takes a file, and one that fetches a picture two. */
const maxConnections = 1_500;

/** A connection on which nothing moves is closed; who waits for news has an answer before. */
const idleMs = 60_000;

/** Rejects with the system's error where the port is not to be had. */
export async function startWatchServer(options: {
  batch: WatchedBatch;
  page: Page;
  /** 0 for a free one. */
  port: number;
  onProblem: (text: string) => void;
  /** Least time between two readings of the batch; 1 s if left out. */
  readEveryMs?: number;
}): Promise<WatchServer> {
  const { batch, page, port, onProblem, readEveryMs } = options;
  const broadcast = startBroadcast(batch, readEveryMs);
  const served: Served = { batch, page, broadcast };
  const answering = new WeakMap<Socket, ServerResponse>();
  const server = createServer(limits, (request, response) => {
    // No browser asks on before it has its answer, and answers to many requests at once would wait in memory.
    if (answering.get(request.socket)?.writableEnded === false) {
      request.socket.destroy();
      return;
    }
    answering.set(request.socket, response);
    void serve(request, response, served, onProblem);
  });
  server.maxConnections = maxConnections;
  server.timeout = idleMs;
  await listen(server, port);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      broadcast.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  served: Served,
  onProblem: (text: string) => void,
): Promise<void> {
  try {
    await answer(request, response, served);
  } catch (error) {
    onProblem(`cannot answer ${request.method} ${JSON.stringify(request.url)}: ${String(error)}`);
    if (response.headersSent) response.destroy();
    else {
      response.writeHead(503, { 'Content-Type': 'text/plain; charset=utf-8', 'Retry-After': '5' });
      response.end('Temporarily unavailable.\n');
    }
  }
}
