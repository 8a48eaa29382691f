/** The hostile service, in a process of its own: `node hostile-service.js SETTINGS`; ends with its standard input. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceSettings, TurnedAway } from './account.ts';
import { type Fields, hang, reset, sendHtml, sendJson } from '../faults/answers.ts';
import { chance, type Chance } from '../faults/chance.ts';
import {
  type Answering,
  meet,
  overloads,
  sendProxyTrouble,
  statusFaults,
  submitFaults,
} from '../faults/request-faults.ts';
import { closedDoors } from './closed-doors.ts';
import { startControl } from './control.ts';
import { refusals } from './curses.ts';
import { HostileJobs, longestExecutionMs, type Job, type Standing } from './hostile-jobs.ts';

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
    const random = chance(settings.seed, 'door', turnedAway.submissions + turnedAway.others);
    return door.answer(answeringOf(response, random));
  }
  if (isSubmission) submit(await readInput(request), answeringOf(response, chanceOf('submit')));
  else if (operation === 'status') tellStatus(id, answeringOf(response, chanceOf('status')));
  else if (operation === 'cancel') cancel(jobs.find(id), answeringOf(response, chanceOf('other')));
  else if (operation === 'health') tellHealth(answeringOf(response, chanceOf('other')));
  else sendJson(response, { error: 'no such operation' }, 404);
}

function answeringOf(response: ServerResponse, random: Chance): Answering {
  return { response, random, elsewhere: control.elsewhere };
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

function submit(input: { scene: string }, answering: Answering): void {
  const { response, random } = answering;
  if (isInBurst('submit')) {
    jobs.countAnswer('submit: 429 in a burst');
    return refuseForLoad(answering);
  }
  const curse = jobs.curseOf(input);
  const refusal = curse && refusals[curse];
  if (refusal !== undefined) {
    jobs.countAnswer(`submit: ${curse}`);
    return sendJson(response, { error: refusal }, 400);
  }
  if (random.hits(settings.faultShare)) {
    const [name, fault] = random.pick(Object.entries(submitFaults));
    jobs.countAnswer(`submit: ${name}`);
    return meet(fault, answering, () => acceptedAnswer(jobs.accept(input)));
  }
  jobs.countAnswer();
  const job = jobs.accept(input);
  response.once('finish', () => (job.isNamed = true));
  sendJson(response, acceptedAnswer(job));
}

function tellStatus(id: string, answering: Answering): void {
  const { response, random } = answering;
  if (isInBurst('status')) {
    jobs.countAnswer('status: 429 in a burst');
    return refuseForLoad(answering);
  }
  const job = jobs.find(id);
  if (job === undefined) {
    jobs.countAnswer();
    return sendJson(response, { error: 'job not found' }, 404);
  }
  const standing = jobs.standingOf(job);
  if (!random.hits(settings.faultShare)) return tellHonestly(response, job, standing);
  // Few looks are at a moment at which a job can be unknown; there it is tried first.
  const denial = random.hits(0.25) ? falseDenial(job) : undefined;
  const [name, fault] = random.pick(Object.entries(statusFaults));
  jobs.countAnswer(`status: ${denial ?? name}`);
  if (denial === undefined) return meet(fault, answering, () => standing.fields);
  job.wasDenied = true;
  sendJson(response, { error: 'job not found' }, 404);
}

/** Younger than this, a job may be unknown; older than that, it may be forgotten for once. */
const freshMs = 500;
const oldMs = 1_500;

/** The false 404 that this job may be met with now. */
function falseDenial({ acceptedAt, wasDenied }: Job): string | undefined {
  const ageMs = Date.now() - acceptedAt;
  if (!wasDenied && ageMs > oldMs) return '404 of an old job, once';
  return ageMs < freshMs ? '404 of a fresh job' : undefined;
}

function tellHonestly(response: ServerResponse, job: Job, standing: Standing): void {
  const hasStalled = !job.wasSeenStalled && Date.now() - job.acceptedAt > longestExecutionMs;
  const isBad = job.fate !== 'good' && (standing.isEnded || hasStalled);
  job.wasSeenStalled ||= hasStalled;
  jobs.countAnswer(isBad ? `end: ${job.fate}` : undefined);
  if (standing.isEnded) response.once('finish', () => (job.deliveredAt ??= Date.now()));
  sendJson(response, standing.fields);
}

function acceptedAnswer({ id }: Job): Fields {
  return { id, status: 'IN_QUEUE' };
}

/** One of the answers of a service that has too much to do. */
function refuseForLoad(answering: Answering): void {
  answering.random.pick(Object.values(overloads)).instead(answering);
}

function cancel(job: Job | undefined, answering: Answering): void {
  const { response, random } = answering;
  // An overdue job is rare and cancelled once: half of the cancellations go wrong, so that all ways are met.
  const fault = random.hits(0.5) ? random.pick(Object.keys(cancelFaults)) : undefined;
  jobs.countAnswer(fault);
  if (fault !== undefined) return cancelFaults[fault]?.(answering);
  if (job === undefined) return sendJson(response, { error: 'job not found' }, 404);
  if (!jobs.standingOf(job).isEnded) {
    job.isCancelled = true;
    job.endedAt = null;
  }
  sendJson(response, { id: job.id, status: 'CANCELLED' });
}

const cancelFaults: Record<string, (answering: Answering) => void> = {
  'cancel: 404': ({ response }) => sendJson(response, { error: 'not found' }, 404),
  'cancel: 405': ({ response }) => sendJson(response, { error: 'method not allowed' }, 405),
  'cancel: 5xx and HTML': sendProxyTrouble,
  'cancel: 429': refuseForLoad,
  'cancel: reset': ({ response }) => reset(response),
  'cancel: no answer': ({ response }) => hang(response),
  'cancel: agrees and goes on': ({ response }) => sendJson(response, { status: 'CANCELLED' }),
};

function tellHealth(answering: Answering): void {
  const { response, random } = answering;
  const fault = random.hits(settings.faultShare) ? random.pick(Object.keys(healthFaults)) : undefined;
  jobs.countAnswer(fault);
  if (fault !== undefined) return healthFaults[fault]?.(answering);
  sendJson(response, { jobs: { completed: 1, failed: 0, inProgress: 1, inQueue: 0 }, workers: { ready: 1 } });
}

const healthFaults: Record<string, (answering: Answering) => void> = {
  'health: 5xx and HTML': sendProxyTrouble,
  'health: 200 and HTML': ({ response }) => sendHtml(response, 200),
  'health: 404': ({ response }) => sendJson(response, { error: 'not found' }, 404),
  'health: 429': refuseForLoad,
  'health: no answer': ({ response }) => hang(response),
};

async function readInput(request: IncomingMessage): Promise<{ scene: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return (JSON.parse(Buffer.concat(chunks).toString()) as { input: { scene: string } }).input;
}
