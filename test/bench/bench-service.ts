/**
 * The bench service, in a separate process: `node bench-service.js LOAD PICTURE`. It ends when its standard input ends.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { measureService } from './service-measures.ts';
import { JobStore, type Job } from './job-book.ts';
import type { Load } from './load.ts';

const [load = '', pictureFile = ''] = process.argv.slice(2);
const store = new JobStore(JSON.parse(load) as Load);
const picture = Buffer.from(readFileSync(pictureFile).toString('base64'));
/** A short answer is cheapest if it is sent in one piece. */
const shortPicture = picture.length < 64 * 1024 ? picture.toString() : undefined;
/** Requests that wait for the next submission. */
const watchers: ServerResponse[] = [];

// Like proxies, keeps connections longer than any client waits between requests. Otherwise closed connections would be
// measured.
const server = createServer({ keepAliveTimeout: 75_000 }, answer);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
process.stdin.resume().on('end', () => process.exit());

const paths = /^\/v[12]\/[\w-]+\/(?:(?<run>run)|status\/(?<id>[\w-]+))$/;

function answer(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/measures') return send(response, 200, JSON.stringify(measureService(store)));
  if (request.url === '/watch') return void watchers.push(response);
  // Many services have no health request. It is not counted as a request about a job.
  if (request.url?.endsWith('/health') === true) return send(response, 404, '{"error":"no such operation"}');
  const path = paths.exec(request.url ?? '')?.groups;
  const id = path?.['id'];
  if (!store.traffic.takesOne()) refuse(response, 429, 'too many requests');
  else if (request.method === 'POST' && path?.['run'] !== undefined) submit(request, response);
  else if (request.method === 'GET' && id !== undefined) tellStatus(store.look(id), response);
  else refuse(response, 404, 'no such operation');
}

function submit(request: IncomingMessage, response: ServerResponse): void {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text));
  request.on('end', () => {
    const { input } = JSON.parse(body) as { input?: unknown };
    if (input === undefined) return refuse(response, 400, 'input is missing');
    const job = store.submit(JSON.stringify(input));
    if (job === undefined) return refuse(response, 429, 'the queue is full');
    sendServed(response, `{"id":"${job.id}","status":"IN_QUEUE"}`);
    const at = performance.timeOrigin + job.submittedAt;
    for (const watcher of watchers.splice(0)) send(watcher, 200, JSON.stringify({ at }));
  });
}

function tellStatus(job: Job | undefined, response: ServerResponse): void {
  if (job === undefined) return refuse(response, 404, 'no such job');
  const { id, input } = job;
  if (job.completedAt !== undefined) sendCompleted(response, job);
  else if (job.startedAt === undefined) sendServed(response, `{"id":"${id}","status":"IN_QUEUE"}`);
  else {
    const delay = `"delayTime":${delayMs(job)}`;
    sendServed(response, `{${delay},"id":"${id}","input":${input},"status":"IN_PROGRESS"}`);
  }
}

/** Sends a completed job. The text of a large picture is the same for all jobs and is never copied. */
function sendCompleted(response: ServerResponse, job: Job): void {
  const times = `"delayTime":${delayMs(job)},"executionTime":${Math.round(job.executionMs)}`;
  const head = `{${times},"id":"${job.id}","output":[{"rendered_image":"`;
  const tail = `","seed":${job.number}}],"status":"COMPLETED"}`;
  if (shortPicture !== undefined) return sendServed(response, head + shortPicture + tail);
  store.traffic.count('served');
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': head.length + picture.length + tail.length,
  });
  response.cork();
  response.write(head);
  response.write(picture);
  response.end(tail);
  response.uncork();
}

function delayMs({ submittedAt, startedAt = submittedAt }: Job): number {
  return Math.round(startedAt - submittedAt);
}

function refuse(response: ServerResponse, status: number, error: string): void {
  if (status === 429) store.traffic.count('tooMuch');
  else store.refused += 1;
  send(response, status, JSON.stringify({ error }));
}

function sendServed(response: ServerResponse, text: string): void {
  store.traffic.count('served');
  send(response, 200, text);
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
