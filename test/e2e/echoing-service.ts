/** A hostile service of the test's own: every answer repeats the key it was sent, in every place an answer has. */
import { createServer } from 'node:http';
import { listenOnLoopback } from './listen-on-loopback.ts';

/** Resolves to its URL. Every request is answered with `status`. */
export async function startEchoingService(status: number): Promise<string> {
  const server = createServer((request, response) => {
    const key = request.headers.authorization ?? '';
    const body = { error: `refused ${key}`, message: [key], status: `SAYS ${key}`, output: [{ error: key }] };
    response.writeHead(status, {
      'content-type': 'application/json',
      'retry-after': '0',
      location: `/?${key}`,
    });
    request.resume().on('end', () => response.end(JSON.stringify(body)));
  });
  return listenOnLoopback(server);
}
