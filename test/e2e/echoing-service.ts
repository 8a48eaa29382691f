/** A hostile service of the test's own: every answer repeats the key it was sent, in every place an answer has. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
