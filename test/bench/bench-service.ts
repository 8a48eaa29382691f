/** The bench service, in a process of its own: `node bench-service.js SCENARIO PICTURE`; ends with its standard input. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { JobBook, type Job } from './job-book.ts';
import type { Scenario } from './scenario.ts';

const [scenario = '', pictureFile = ''] = process.argv.slice(2);
const book = new JobBook(JSON.parse(scenario) as Scenario);
const picture = Buffer.from(readFileSync(pictureFile).toString('base64'));

const server = createServer((request, response) => {
  void answer(request, response);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
process.stdin.resume().on('end', () => process.exit());

const paths = /^\/v[12]\/[\w-]+\/(?:(?<run>run)|status\/(?<id>[\w-]+))$/;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = paths.exec(request.url ?? '')?.groups;
  const id = path?.['id'];
  if (request.method === 'POST' && path?.['run'] !== undefined) await submit(request, response);
  else if (request.method === 'GET' && id !== undefined) tellStatus(book.look(id), response);
  else if (request.url === '/account') send(response, 200, book.account());
  else refuse(response, 404, 'no such operation');
}

async function submit(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input?: unknown };
  if (input === undefined) refuse(response, 400, 'input is missing');
  else send(response, 200, { id: book.submit(input).id, status: 'IN_QUEUE' });
}

function tellStatus(job: Job | undefined, response: ServerResponse): void {
  if (job === undefined) refuse(response, 404, 'no such job');
  else if (job.completedAt !== undefined) sendCompleted(response, job);
  else if (job.startedAt === undefined) send(response, 200, { id: job.id, status: 'IN_QUEUE' });
  else {
    const { id, input } = job;
    send(response, 200, { delayTime: delayMs(job), id, input, status: 'IN_PROGRESS' });
  }
}

/** The picture's text is the same for all jobs and is never copied. */
function sendCompleted(response: ServerResponse, job: Job): void {
  const times = `"delayTime":${delayMs(job)},"executionTime":${Math.round(job.executionMs)}`;
  const head = `{${times},"id":"${job.id}","output":[{"rendered_image":"`;
  const tail = `","seed":${job.number}}],"status":"COMPLETED"}`;
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
  book.countRefused();
  send(response, status, { error });
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
