/**
 * The hostile service, in a separate process: `node hostile-service.js SETTINGS`. It ends when its standard input ends.
 */
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceSettings, TurnedAway } from './service-report.ts';
import { HttpService } from '../fakes/http-service.ts';
import { answerHonestly, type Asked } from '../fakes/job-server.ts';
import { hang, reset, sendHtml, sendJson } from '../faults/answers.ts';
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
import {
  HostileRecords,
  hostileIdOf,
  longestExecutionMs,
  planOf,
  type HostileJob,
  type HostilePlan,
} from './hostile-jobs.ts';

type HostileAsked = Asked<HostilePlan>;

const settings = JSON.parse(process.argv[2] ?? '') as ServiceSettings;
const records = new HostileRecords(settings);
const service: HttpService<HostilePlan> = new HttpService({
  plan: (input) => planOf(settings, service.jobs.all.length + 1, input),
  meet: answer,
  retentionMs: settings.retentionMs,
  idOf: (number) => hostileIdOf(settings.seed, number),
});
const { jobs, server } = service;
const requests = { submit: 0, status: 0, other: 0 };
/** Name of the present reason for rejecting requests (`closedDoors`). */
let closed: string | undefined;
let turnedAway: TurnedAway = { submissions: 0, others: 0 };

const control = await startControl({
  report: () => records.of(jobs.all),
  age: deleteResults,
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

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port} ${control.url}\n`);
});
process.stdin.resume().on('end', () => process.exit());

/** Deletes every present result, as if its retention had passed. */
function deleteResults(): void {
  for (const job of jobs.all) {
    if (jobs.stateOf(job) !== 'ended' || jobs.find(job.id) === undefined) continue;
    job.forgottenAt = Date.now();
    job.plan.isAged = true;
  }
}

/** Refuses connections for `ms`. */
function refuseConnections(ms: number): void {
  // The server may be refusing connections already.
  if (!server.listening) return;
  const { port } = server.address() as AddressInfo;
  server.close(() => setTimeout(() => server.listen(port, '127.0.0.1'), ms));
  server.closeAllConnections();
}

function answer(asked: HostileAsked): void {
  const { operation, response } = asked;
  const isSubmission = operation === 'run';
  const door = closedDoors[closed ?? ''];
  if (door !== undefined && (isSubmission || !door.isForSubmissions)) {
    turnedAway[isSubmission ? 'submissions' : 'others'] += 1;
    const random = chance(settings.seed, 'door', turnedAway.submissions + turnedAway.others);
    return door.answer(answeringOf(response, random));
  }
  if (isSubmission) submit(asked, answeringOf(response, chanceOf('submit')));
  else if (operation === 'status') tellStatus(asked, answeringOf(response, chanceOf('status')));
  else if (operation === 'cancel') meetSome(asked, cancelFaults, 0.5);
  else if (operation === 'health') meetSome(asked, healthFaults, settings.faultShare);
  else answerHonestly(asked);
}

function answeringOf(response: ServerResponse, random: Chance): Answering {
  return { response, random, elsewhere: control.elsewhere };
}

/**
 * Returns the random generator of a request, by its number, so that other requests never change what this one meets.
 */
function chanceOf(operation: keyof typeof requests): Chance {
  requests[operation] += 1;
  return chance(settings.seed, operation, requests[operation]);
}

/** True if this request is in a burst of rejected requests. */
function isInBurst(operation: keyof typeof requests): boolean {
  const number = requests[operation];
  const isBurst = chance(settings.seed, 'burst', operation, Math.floor(number / 100)).hits(0.06);
  return isBurst && number % 100 < 20;
}

function submit({ input, take }: HostileAsked, answering: Answering): void {
  const { response, random } = answering;
  if (isInBurst('submit')) {
    records.countAnswer('submit: 429 in a burst');
    return refuseForLoad(answering);
  }
  const curse = records.curseOf(input);
  const refusal = curse && refusals[curse];
  if (refusal !== undefined) {
    records.countAnswer(`submit: ${curse}`);
    return sendJson(response, { error: refusal }, 400);
  }
  if (random.hits(settings.faultShare)) {
    const [name, fault] = random.pick(Object.entries(submitFaults));
    records.countAnswer(`submit: ${name}`);
    return meet(fault, answering, () => take().fields);
  }
  records.countAnswer();
  const { fields, job } = take();
  response.once('finish', () => {
    if (job !== undefined) job.plan.isNamed = true;
  });
  sendJson(response, fields);
}

function tellStatus(asked: HostileAsked, answering: Answering): void {
  const { response, random } = answering;
  if (isInBurst('status')) {
    records.countAnswer('status: 429 in a burst');
    return refuseForLoad(answering);
  }
  const job = find(asked.jobId);
  if (job === undefined) {
    records.countAnswer();
    return answerHonestly(asked);
  }
  if (!random.hits(settings.faultShare)) return tellHonestly(asked, job);
  // Few polls come at a moment at which a job may be unknown, so a denial is tried first there.
  const denial = random.hits(0.25) ? falseDenial(job) : undefined;
  const [name, fault] = random.pick(Object.entries(statusFaults));
  records.countAnswer(`status: ${denial ?? name}`);
  if (denial === undefined) return meet(fault, answering, () => asked.take().fields);
  job.plan.wasDenied = true;
  sendJson(response, { error: 'job not found' }, 404);
}

/** Returns a job. If it was deleted, records that the client is told it is unknown. */
function find(jobId: string): HostileJob | undefined {
  const job = jobs.find(jobId);
  const deleted = job === undefined ? jobs.all.find(({ id }) => id === jobId) : undefined;
  if (deleted !== undefined) deleted.plan.denied += 1;
  return job;
}

/** Ages between which a job is never denied: a younger one may be unknown, an older one may be denied once. */
const freshMs = 500;
const oldMs = 1_500;

/** Returns the name of a false 404 that is allowed for this job now. */
function falseDenial({ submittedAt, plan: { wasDenied } }: HostileJob): string | undefined {
  const ageMs = Date.now() - submittedAt;
  if (!wasDenied && ageMs > oldMs) return '404 of an old job, once';
  return ageMs < freshMs ? '404 of a fresh job' : undefined;
}

function tellHonestly(asked: HostileAsked, job: HostileJob): void {
  const { plan } = job;
  const { status, fields } = asked.take();
  const isEnded = !String(fields['status']).startsWith('IN_');
  const hasStalled = !plan.wasSeenStalled && Date.now() - job.submittedAt > longestExecutionMs;
  const isBad = plan.fate !== 'good' && (isEnded || hasStalled);
  plan.wasSeenStalled ||= hasStalled;
  records.countAnswer(isBad ? `end: ${plan.fate}` : undefined);
  if (isEnded) asked.response.once('finish', () => (plan.deliveredAt ??= Date.now()));
  sendJson(asked.response, fields, status);
}

/** Sends one of the answers of an overloaded service. */
function refuseForLoad(answering: Answering): void {
  answering.random.pick(Object.values(overloads)).instead(answering);
}

/**
 * Answers a request, with a share of faults. Overdue jobs are rare and each is cancelled once, so many cancellations
 * must fail to cover all faults.
 */
function meetSome(
  asked: HostileAsked,
  faults: Record<string, (answering: Answering) => void>,
  share: number,
): void {
  const answering = answeringOf(asked.response, chanceOf('other'));
  if (asked.operation === 'cancel') find(asked.jobId);
  const { random } = answering;
  const fault = random.hits(share) ? random.pick(Object.keys(faults)) : undefined;
  records.countAnswer(fault);
  if (fault === undefined) answerHonestly(asked);
  else faults[fault]?.(answering);
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

const healthFaults: Record<string, (answering: Answering) => void> = {
  'health: 5xx and HTML': sendProxyTrouble,
  'health: 200 and HTML': ({ response }) => sendHtml(response, 200),
  'health: 404': ({ response }) => sendJson(response, { error: 'not found' }, 404),
  'health: 429': refuseForLoad,
  'health: no answer': ({ response }) => hang(response),
};
