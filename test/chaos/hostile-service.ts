/** The hostile service, in a process of its own: `node hostile-service.js SETTINGS`; ends with its standard input. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceSettings, TurnedAway } from './account.ts';
import { hang, reset, sendHtml, sendJson, sendProxyTrouble } from './answers.ts';
import { chance, type Chance } from '../../src/service/faults/chance.ts';
import { closedDoors } from './closed-doors.ts';
import { startControl } from './control.ts';
import { refusals } from './curses.ts';
import { HostileJobs, longestExecutionMs, type Job } from './hostile-jobs.ts';
import { falseDenial, statusFaults, type Look } from './status-faults.ts';
import { refuseForLoad, submitFaults } from './submit-faults.ts';

const settings = JSON.parse(process.argv[2] ?? '') as ServiceSettings;
const jobs = new HostileJobs(settings);
const requests = { submit: 0, status: 0, other: 0 };
/** The name of the door that is closed at present. */
let closed: string | undefined;
let turnedAway: TurnedAway = { submissions: 0, others: 0 };

const control = await startControl({
  account: () => jobs.account(),
  age: () => jobs.age(),
  close: (door) => {
    closed = door;
    turnedAway = { submissions: 0, others: 0 };
  },
  open: () => {
    closed = undefined;
    return turnedAway;
  },
  refuse: refuseConnections,
});

const server = createServer((request, response) => {
  // Whoever is killed breaks off in the midst of a request.
  answer(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port} ${control.url}\n`);
});
process.stdin.resume().on('end', () => process.exit());

/** Who comes meanwhile finds nobody there. */
function refuseConnections(ms: number): void {
  // It may be away already.
  if (!server.listening) return;
  const { port } = server.address() as AddressInfo;
  server.close(() => setTimeout(() => server.listen(port, '127.0.0.1'), ms));
  server.closeAllConnections();
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, operation, id = ''] =
    /^\/v[12]\/[\w-]+\/(run|status|cancel|health)(?:\/([\w-]+))?$/.exec(request.url ?? '') ?? [];
  const isSubmission = operation === 'run';
  const door = closedDoors[closed ?? ''];
  if (door !== undefined && (isSubmission || !door.isForSubmissions)) {
    turnedAway[isSubmission ? 'submissions' : 'others'] += 1;
    return door.answer(response, control.elsewhere);
  }
  if (isSubmission) submit(await readInput(request), response);
  else if (operation === 'status') tellStatus(id, response);
  else if (operation === 'cancel') cancel(jobs.find(id), response);
  else if (operation === 'health') tellHealth(response);
  else sendJson(response, { error: 'no such operation' }, 404);
}

/** Each request has its own chance, by its number: what others do does not change what it meets. */
function chanceOf(operation: keyof typeof requests): Chance {
  requests[operation] += 1;
  return chance(settings.seed, operation, requests[operation]);
}

/** Whether this request is one of many in a row that are too many. */
function isInBurst(operation: keyof typeof requests): boolean {
  const number = requests[operation];
  const isBurst = chance(settings.seed, 'burst', operation, Math.floor(number / 100)).hits(0.06);
  return isBurst && number % 100 < 20;
}

function submit(input: { scene: string }, response: ServerResponse): void {
  const random = chanceOf('submit');
  if (isInBurst('submit')) {
    jobs.countAnswer('submit: 429 in a burst');
    return refuseForLoad(response, random);
  }
  const curse = jobs.curseOf(input);
  const refusal = curse && refusals[curse];
  if (refusal !== undefined) {
    jobs.countAnswer(`submit: ${curse}`);
    return sendJson(response, { error: refusal }, 400);
  }
  const accept = (): Job => jobs.accept(input);
  const fault = random.hits(settings.faultShare) ? random.pick(Object.keys(submitFaults)) : undefined;
  jobs.countAnswer(fault);
  if (fault !== undefined) return submitFaults[fault]?.({ response, random, accept });
  const job = accept();
  response.once('finish', () => (job.isNamed = true));
  sendJson(response, { id: job.id, status: 'IN_QUEUE' });
}

function tellStatus(id: string, response: ServerResponse): void {
  const random = chanceOf('status');
  if (isInBurst('status')) {
    jobs.countAnswer('status: 429 in a burst');
    return refuseForLoad(response, random);
  }
  const job = jobs.find(id);
  if (job === undefined) {
    jobs.countAnswer();
    return sendJson(response, { error: 'job not found' }, 404);
  }
  const { elsewhere } = control;
  const look: Look = { response, random, job, standing: jobs.standingOf(job), elsewhere };
  if (!random.hits(settings.faultShare)) return tellHonestly(look);
  // Few looks are at a moment at which a job can be unknown; there it is tried first.
  const denial = random.hits(0.25) ? falseDenial(look) : undefined;
  const fault = denial ?? random.pick(Object.keys(statusFaults));
  jobs.countAnswer(fault);
  if (denial === undefined) return statusFaults[fault]?.(look);
  job.wasDenied = true;
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
  // An overdue job is rare and cancelled once: half of the cancellations go wrong, so that all ways are met.
  const fault = random.hits(0.5) ? random.pick(Object.keys(cancelFaults)) : undefined;
  jobs.countAnswer(fault);
  if (fault !== undefined) return cancelFaults[fault]?.(response, random);
  if (job === undefined) return sendJson(response, { error: 'job not found' }, 404);
  if (!jobs.standingOf(job).isEnded) {
    job.isCancelled = true;
    job.endedAt = null;
  }
  sendJson(response, { id: job.id, status: 'CANCELLED' });
}

const cancelFaults: Record<string, (response: ServerResponse, random: Chance) => void> = {
  'cancel: 404': (response) => sendJson(response, { error: 'not found' }, 404),
  'cancel: 405': (response) => sendJson(response, { error: 'method not allowed' }, 405),
  'cancel: 5xx and HTML': sendProxyTrouble,
  'cancel: 429': refuseForLoad,
  'cancel: reset': reset,
  'cancel: no answer': hang,
  'cancel: agrees and goes on': (response) => sendJson(response, { status: 'CANCELLED' }),
};

function tellHealth(response: ServerResponse): void {
  const random = chanceOf('other');
  const fault = random.hits(settings.faultShare) ? random.pick(Object.keys(healthFaults)) : undefined;
  jobs.countAnswer(fault);
  if (fault !== undefined) return healthFaults[fault]?.(response, random);
  sendJson(response, { jobs: { completed: 1, failed: 0, inProgress: 1, inQueue: 0 }, workers: { ready: 1 } });
}

const healthFaults: Record<string, (response: ServerResponse, random: Chance) => void> = {
  'health: 5xx and HTML': sendProxyTrouble,
  'health: 200 and HTML': (response) => sendHtml(response, 200),
  'health: 404': (response) => sendJson(response, { error: 'not found' }, 404),
  'health: 429': refuseForLoad,
  'health: no answer': hang,
};

async function readInput(request: IncomingMessage): Promise<{ scene: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return (JSON.parse(Buffer.concat(chunks).toString()) as { input: { scene: string } }).input;
}
