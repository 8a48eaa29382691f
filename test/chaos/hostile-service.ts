/** The hostile service, in a process of its own: `node hostile-service.js SETTINGS`; ends with its standard input. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceSettings } from './account.ts';
import { hang, reset, sendJson, sendProxyTrouble } from './answers.ts';
import { chance, type Chance } from './chance.ts';
import { HostileJobs, longestExecutionMs, type Job } from './hostile-jobs.ts';
import { falseDenial, statusFaults, type Look } from './status-faults.ts';
import { submitFaults } from './submit-faults.ts';

const settings = JSON.parse(process.argv[2] ?? '') as ServiceSettings;
const jobs = new HostileJobs(settings);
const requests = { submit: 0, status: 0, other: 0 };

const server = createServer((request, response) => {
  // Whoever is killed breaks off in the midst of a request.
  answer(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
process.stdin.resume().on('end', () => process.exit());

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, operation, id] =
    /^\/v[12]\/[\w-]+\/(run|status|cancel|health)(?:\/([\w-]+))?$/.exec(request.url ?? '') ?? [];
  if (request.url === '/account') sendJson(response, jobs.account());
  else if (request.url === '/age') sendJson(response, jobs.age() ?? {});
  else if (operation === 'run') await submit(request, response);
  else if (operation === 'status') tellStatus(jobs.find(id ?? ''), response);
  else if (operation === 'cancel') cancel(jobs.find(id ?? ''), response);
  else if (operation === 'health') tellHealth(response);
  else sendJson(response, { error: 'no such operation' }, 404);
}

/** Each request has its own chance, by its number: what others do does not change what it meets. */
function chanceOf(operation: keyof typeof requests): Chance {
  requests[operation] += 1;
  return chance(settings.seed, operation, requests[operation]);
}

async function submit(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const random = chanceOf('submit');
  const accept = async (): Promise<Job> => jobs.accept(await readInput(request));
  const fault = random.hits(settings.faultShare) ? random.pick(Object.keys(submitFaults)) : undefined;
  jobs.countAnswer(fault);
  if (fault !== undefined) return submitFaults[fault]?.({ response, random, accept });
  const job = await accept();
  response.once('finish', () => (job.isNamed = true));
  sendJson(response, { id: job.id, status: 'IN_QUEUE' });
}

function tellStatus(job: Job | undefined, response: ServerResponse): void {
  if (job === undefined) {
    jobs.countAnswer();
    return sendJson(response, { error: 'job not found' }, 404);
  }
  const look: Look = { response, random: chanceOf('status'), job, standing: jobs.standingOf(job) };
  if (!look.random.hits(settings.faultShare)) return tellHonestly(look);
  // Few looks are at a moment at which a job can be unknown; there it is tried first.
  const denial = look.random.hits(0.25) ? falseDenial(look) : undefined;
  const fault = denial ?? look.random.pick(Object.keys(statusFaults));
  jobs.countAnswer(fault);
  if (denial === undefined) return statusFaults[fault]?.(look);
  job.deniedFalsely += 1;
  sendJson(response, { error: 'job not found' }, 404);
}

function tellHonestly({ response, job, standing }: Look): void {
  const hasStalled = !job.wasSeenStalled && Date.now() - job.acceptedAt > longestExecutionMs;
  const isBad = job.fate !== 'good' && (standing.isEnded || hasStalled);
  job.wasSeenStalled ||= hasStalled;
  jobs.countAnswer(isBad ? `end: ${job.fate}` : undefined);
  if (standing.isEnded) response.once('finish', () => (job.deliveredAt ??= Date.now()));
  sendJson(response, standing.fields);
}

function cancel(job: Job | undefined, response: ServerResponse): void {
  const random = chanceOf('other');
  const isFaulty = random.hits(settings.faultShare);
  jobs.countAnswer(isFaulty ? 'cancel: refused or not answered' : undefined);
  if (isFaulty) return random.pick([hang, reset, refuseCancel])(response);
  if (job === undefined) return sendJson(response, { error: 'job not found' }, 404);
  if (!jobs.standingOf(job).isEnded) {
    job.isCancelled = true;
    job.endedAt = null;
  }
  sendJson(response, { id: job.id, status: 'CANCELLED' });
}

function refuseCancel(response: ServerResponse): void {
  sendJson(response, { error: 'method not allowed' }, 405);
}

function tellHealth(response: ServerResponse): void {
  const random = chanceOf('other');
  const isFaulty = random.hits(settings.faultShare);
  jobs.countAnswer(isFaulty ? 'health: 5xx and HTML' : undefined);
  if (isFaulty) return sendProxyTrouble(response, random);
  sendJson(response, { jobs: { completed: 1, failed: 0, inProgress: 1, inQueue: 0 }, workers: { ready: 1 } });
}

async function readInput(request: IncomingMessage): Promise<{ scene: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return (JSON.parse(Buffer.concat(chunks).toString()) as { input: { scene: string } }).input;
}
