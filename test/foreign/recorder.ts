/** A proxy between a program and a service, which records all requests and answers. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { request } from 'undici';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';

export interface Exchange {
  method: string;
  /** Path with the query. */
  path: string;
  headers: Record<string, string>;
  body: string;
  status: number;
  answer: string;
}

/** Headers that a service may read. */
const kept = ['authorization', 'content-type', 'charset', 'x-request-id'];

export class Recorder {
  readonly url: string;
  readonly exchanges: Exchange[];

  /**
   * Starts a recorder. Exchanges are in the order of their answers, and unanswered requests are not recorded.
   */
  static async start(service: string): Promise<Recorder> {
    const exchanges: Exchange[] = [];
    const server = createServer((asked, response) => void handOn(service, asked, response, exchanges));
    return new Recorder(await listenOnLoopback(server), exchanges);
  }

  private constructor(url: string, exchanges: Exchange[]) {
    this.url = url;
    this.exchanges = exchanges;
  }
}

function headersOf(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(kept.flatMap((name) => (name in headers ? [[name, String(headers[name])]] : [])));
}

/** Replaces job ids by `JOB-1` and so on, in their order, and each key of `words` by its value. */
export function withoutAccidents(exchanges: Exchange[], words: Record<string, string>): Exchange[] {
  let text = JSON.stringify(exchanges);
  for (const [secret, word] of Object.entries(words)) text = text.replaceAll(secret, word);
  const ids = new Set([...text.matchAll(/\\"id\\":\\"([^"\\]+)\\"/g)].map(([, id = '']) => id));
  for (const [index, id] of [...ids].entries()) text = text.replaceAll(id, `JOB-${index + 1}`);
  // Times differ between recordings.
  text = text.replaceAll(/(\\"(?:delayTime|executionTime)\\"):\d+/g, '$1:0');
  return JSON.parse(text) as Exchange[];
}

async function handOn(
  service: string,
  asked: IncomingMessage,
  response: ServerResponse,
  exchanges: Exchange[],
): Promise<void> {
  const { method = '', url: path = '', headers } = asked;
  const body = await buffer(asked);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const options = { method, headers: headersOf(headers), body: body.length > 0 ? body : null };
  const answered = await request(service + path, { ...options, signal: gone.signal }).catch(() => undefined);
  if (answered === undefined) return void response.destroy();
  const answer = Buffer.from(await answered.body.arrayBuffer());
  const { statusCode: status } = answered;
  exchanges.push({
    method,
    path,
    headers: options.headers,
    body: String(body),
    status,
    answer: String(answer),
  });
  const type = answered.headers['content-type'];
  response.writeHead(status, { ...(type !== undefined && { 'content-type': type }) }).end(answer);
}
