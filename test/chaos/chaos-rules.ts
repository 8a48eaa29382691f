/**
 * Checks a batch at the end of the chaos test, by the rules of the account and by facts that only the hostile service
 * and the driver know.
 */
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { Account, type JobSeen } from '../account/account.ts';
import type { Attempt, Books } from '../account/books.ts';
import type { Folder } from '../account/read-folder.ts';
import { attemptsAllowed } from './batch.ts';
import type { JobRecord, ServiceReport, ServiceSettings } from './service-report.ts';
import type { Stretch } from './runner.ts';
import type { Sighting } from './sightings.ts';
import { wrongVerdicts } from './verdict-rules.ts';

/** Input of the rules: the program's records, the service's report, and observations of the driver. */
export interface Evidence {
  /** Ids of all wanted scenes. */
  wanted: readonly string[];
  out: string;
  folder: Folder;
  service: ServiceReport;
  up: readonly Stretch[];
  /** Files of the images folder, as they were after each kill. */
  sightings: readonly Sighting[];
  retentionMs: ServiceSettings['retentionMs'];
}

/** Returns one sentence for each thing that is wrong. */
export function differences(evidence: Evidence): string[] {
  const { folder, service, out } = evidence;
  const { books, pictures, keptAnswers } = folder;
  if (books === undefined) return ['the checkpoint cannot be read'];
  const left = { jobs: service.jobs.map(jobSeen), books, pictures, keptAnswers };
  const terms = { command: 'run', end: 'over', attempts: attemptsAllowed, fatesOf } as const;
  return [
    ...damaged(out),
    ...new Account<ChaosJob>().judge(left, terms),
    ...lostScenes(evidence.wanted, books),
    ...wrongVerdicts(books, service),
    ...misnamed(books),
    ...wrongForATime(evidence),
    ...forgottenAnswers(books, evidence),
    ...untrueRefusals(books),
    ...needlessJobs(books, service),
    ...resultsLeftToExpire(books, evidence),
    ...strayRequests(service),
  ];
}

interface ChaosJob extends JobSeen {
  job: JobRecord;
}

function jobSeen(job: JobRecord): ChaosJob {
  const { id, scene, isNamed, polls, sha256 } = job;
  return { id, scene, isNamed, polls, made: sha256 === null ? [] : [sha256], job };
}

/**
 * Returns the allowed final states of an attempt. Quarantine is always allowed, because only the program counts the
 * crashes of a job.
 */
function fatesOf({ job: { fate, kind, denied } }: ChaosJob, { kind: declared }: Attempt): string[] {
  return [
    'failed quarantined',
    ...(fate === 'good' ? ['saved'] : []),
    ...(kind === null ? [] : [`failed ${kind}`]),
    // The service has denied the job, truly or falsely.
    ...(denied > 0 ? [`expired ${declared}`] : []),
  ];
}

function damaged(out: string): string[] {
  const db = new Sqlite(join(out, 'checkpoint.sqlite'), { readonly: true });
  const check = String(db.pragma('quick_check', { simple: true }));
  db.close();
  return check === 'ok' ? [] : [`the checkpoint is damaged: ${check}`];
}

/** Checks that every scene is saved or has failed for a reason. */
function lostScenes(wanted: readonly string[], { scenes }: Books): string[] {
  const known = new Map(scenes.map((scene) => [scene.id, scene]));
  return wanted.flatMap((id) => {
    const { state, kind } = known.get(id) ?? { state: 'unknown to the checkpoint', kind: null };
    return state === 'saved' || (state === 'failed' && kind !== null)
      ? []
      : [`scene ${id} is lost: ${state}`];
  });
}

/** Checks that each picture has the name of its scene. */
function misnamed({ pictures }: Books): string[] {
  return pictures
    .filter(({ scene, file }) => file !== `${scene}.png`)
    .map(({ scene, file }) => `${file} is said to be of scene ${scene}`);
}

/** Checks that after each kill, every file under a final name was a complete picture of its scene. */
function wrongForATime({ sightings, service }: Evidence): string[] {
  const made = new Set(service.jobs.map(({ scene, sha256 }) => `${scene}.png ${sha256}`));
  return sightings
    .filter(({ file, sha256 }) => !made.has(`${file} ${sha256}`))
    .map(({ file }) => `${file} was seen after a death, and it was no whole picture of its scene`);
}

/**
 * Checks that a run recorded every job id that it was told while it had time to write. On a busy machine an answer may
 * come after the run has given up waiting. Such a job passes only if the attempt says so.
 */
function forgottenAnswers({ attempts }: Books, { service, up }: Evidence): string[] {
  const known = new Set(attempts.map(({ job_id }) => job_id));
  const late = new Set(attempts.filter(wasLate).map(({ scene }) => scene));
  return service.jobs
    .filter(({ id, isNamed, scene }) => isNamed && !known.has(id) && !late.has(scene))
    .filter(({ acceptedAt }) =>
      up.some(({ from, until }) => from < acceptedAt && acceptedAt + enoughMs < until),
    )
    .map(({ id, scene }) => `${id} of scene ${scene} was named to a run that was up, and is in no attempt`);
}

const enoughMs = 2_000;

function wasLate({ state, text }: Attempt): boolean {
  return state === 'unanswered' && /no answer came in time|not complete after/.test(text ?? '');
}

/**
 * Checks that submissions are repeated within their attempt if the service was overloaded or refused the connection.
 */
function untrueRefusals({ attempts }: Books): string[] {
  return attempts
    .filter(({ job_id }) => job_id === null)
    .filter(({ state, kind, text }) =>
      state === 'refused' ? !refusals.has(kind) : /ECONNREFUSED/.test(text ?? ''),
    )
    .map((row) => `attempt ${row.attempt} of scene ${row.scene} is ${row.state} (${row.kind}: ${row.text})`);
}

/** Failures that may end a submission without a job. Null if the run was stopped before the submission was accepted. */
const refusals: ReadonlySet<string | null> = new Set([
  null,
  'input-refused',
  'key-refused',
  'account-unusable',
  'endpoint-unknown',
]);

/** Checks that nothing was submitted for a scene after the service had delivered its saved picture. */
function needlessJobs({ attempts }: Books, { jobs }: ServiceReport): string[] {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const saved = new Map(
    attempts.filter(({ state }) => state === 'saved').map(({ scene, job_id }) => [scene, job_id]),
  );
  return jobs.flatMap((job) => {
    const kept = byId.get(saved.get(job.scene) ?? '');
    const deliveredAt = kept?.deliveredAt ?? Infinity;
    if (kept === job || job.acceptedAt <= deliveredAt) return [];
    return [
      `scene ${job.scene} was submitted again (${job.id}) after its picture had been handed out (${kept?.id})`,
    ];
  });
}

/** Checks that no result expired while a run was active long enough to collect it. */
function resultsLeftToExpire({ attempts }: Books, { service, up, retentionMs }: Evidence): string[] {
  const rows = new Map(attempts.map((row) => [row.job_id, row]));
  return service.jobs.flatMap(({ id, scene, endedAt, isAged }) => {
    if (rows.get(id)?.state !== 'expired' || endedAt === null || isAged) return [];
    const stretches = up.map(
      ({ from, until }) => Math.min(until, endedAt + retentionMs) - Math.max(from, endedAt),
    );
    const collectingMs = stretches.reduce((sum, ms) => sum + Math.max(0, ms - beginningMs), 0);
    if (collectingMs <= retentionMs / 4) return [];
    return [
      `the result of ${id} (scene ${scene}) expired, and runs were up for ${collectingMs} ms meanwhile`,
    ];
  });
}

/** Time at the start of a stretch in which a poll may meet one failure and the wait after it. */
const beginningMs = 1_500;

/** Checks that no client follows a redirect, especially not with the key. */
function strayRequests({ strays, strayKeys }: ServiceReport): string[] {
  if (strays === 0) return [];
  return [`${strays} requests came where a redirect led, ${strayKeys} of them with the key`];
}
