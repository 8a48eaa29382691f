/**
 * Stands in for the development server of a worker SDK. Its requests have no version and endpoint id, and it renders
 * when asked for the status.
 */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';

export interface DevelopmentServer {
  url: string;
  /** Method and path of each request, with `ID` for job ids, followed by the Authorization header if there is one. */
  requests: string[];
}

/**
 * Starts the server, which stops when the test ends. `lost`: numbers of the results, from 1, whose connection breaks
 * before the answer.
 */
export async function startDevelopmentServer(
  output: unknown,
  lost: readonly number[],
): Promise<DevelopmentServer> {
  const requests: string[] = [];
  const jobs = new Set<string>();
  let results = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request;
      requests.push(`${method} ${url.replace(/\/[^/]*-[^/]*$/, '/ID')}${headers.authorization ?? ''}`);
      const answer = (status: number, body: object): void =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      const id = url.split('/').at(-1) ?? '';
      if (method === 'POST' && url === '/run') {
        await json(request);
        const made = `test-${crypto.randomUUID()}`;
        jobs.add(made);
        return answer(200, { id: made, status: 'IN_PROGRESS' });
      }
      if (!url.startsWith('/status/')) return answer(404, { detail: 'Not Found' });
      if (method !== 'POST') return answer(405, { detail: 'Method Not Allowed' });
      if (!jobs.delete(id)) return answer(200, { id, status: 'FAILED', error: 'Job ID not found' });
      results += 1;
      return lost.includes(results)
        ? void response.destroy()
        : answer(200, { id, status: 'COMPLETED', output });
    })();
  });
  return { url: await listenOnLoopback(server), requests };
}
