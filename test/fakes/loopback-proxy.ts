/** A proxy on loopback that accepts CONNECT and plain requests. It resolves every host name to this machine. */
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';

export interface LoopbackProxy {
  url: string;
  /** One entry for each request: `CONNECT host:port`, or the method and the whole URL. */
  asked: string[];
  /** Everything that clients have sent, as the proxy can read it. */
  readonly read: string;
}

/** Starts the proxy, which stops when the test ends. `refuses`: status that answers every request. */
export async function loopbackProxy(port: number, refuses?: number): Promise<LoopbackProxy> {
  const asked: string[] = [];
  const chunks: Buffer[] = [];
  const server = createServer((got, response) => {
    asked.push(`${got.method} ${got.url}`);
    if (refuses !== undefined) return void response.writeHead(refuses).end();
    const { pathname, search } = new URL(got.url ?? '');
    const { method, headers } = got;
    const passed = request(
      { host: '127.0.0.1', port, method, path: pathname + search, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    got.pipe(passed);
  });
  server.on('connection', (socket) => socket.on('data', (chunk: Buffer) => void chunks.push(chunk)));
  server.on('connect', (got, client) => {
    asked.push(`CONNECT ${got.url}`);
    if (refuses !== undefined) return void client.end(`HTTP/1.1 ${refuses} No\r\n\r\n`);
    const target = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(client);
      client.pipe(target);
    });
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    onTestFinished(() => void client.destroy());
  });
  const url = await listenOnLoopback(server);
  return {
    url,
    asked,
    get read() {
      return Buffer.concat(chunks).toString('latin1');
    },
  };
}
