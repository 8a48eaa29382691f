/** Judges a batch at the end of the chaos by the rules of the account, and by what only the hostile service and the driver know. */
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

/** What the rules go by: the word of the program, the word of the service, and what the driver saw. */
export interface Evidence {
  /** The ids of all scenes that are wanted. */
  wanted: readonly string[];
  out: string;
  folder: Folder;
  service: ServiceReport;
  up: readonly Stretch[];
  /** The files of the images folder as they were after each death. */
  sightings: readonly Sighting[];
  retentionMs: ServiceSettings['retentionMs'];
}

/** One sentence for each thing that is wrong. */
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

/** How often a job was met with a death, only the program knows. */
function fatesOf({ job: { fate, kind, denied } }: ChaosJob, { kind: declared }: Attempt): string[] {
  return [
    'failed quarantined',
    ...(fate === 'good' ? ['saved'] : []),
    ...(kind === null ? [] : [`failed ${kind}`]),
    // The service said so, more than once or truly.
    ...(denied > 0 ? [`expired ${declared}`] : []),
  ];
}

function damaged(out: string): string[] {
  const db = new Sqlite(join(out, 'checkpoint.sqlite'), { readonly: true });
  const check = String(db.pragma('quick_check', { simple: true }));
  db.close();
  return check === 'ok' ? [] : [`the checkpoint is damaged: ${check}`];
}

/** Every scene is saved or has failed for a reason. */
function lostScenes(wanted: readonly string[], { scenes }: Books): string[] {
  const known = new Map(scenes.map((scene) => [scene.id, scene]));
  return wanted.flatMap((id) => {
    const { state, kind } = known.get(id) ?? { state: 'unknown to the checkpoint', kind: null };
    return state === 'saved' || (state === 'failed' && kind !== null)
      ? []
      : [`scene ${id} is lost: ${state}`];
  });
}

/** Each picture has the name of its scene. */
function misnamed({ pictures }: Books): string[] {
  return pictures
    .filter(({ scene, file }) => file !== `${scene}.png`)
    .map(({ scene, file }) => `${file} is said to be of scene ${scene}`);
}

/** After no death was there a file under a final name that is not a whole picture of its scene. */
function wrongForATime({ sightings, service }: Evidence): string[] {
  const made = new Set(service.jobs.map(({ scene, sha256 }) => `${scene}.png ${sha256}`));
  return sightings
    .filter(({ file, sha256 }) => !made.has(`${file} ${sha256}`))
    .map(({ file }) => `${file} was seen after a death, and it was no whole picture of its scene`);
}

/**
 * No id is lost that was told to a run with time to write it down. On a busy machine an answer may come after the run
 * has given up waiting for it, and only if the run says so it is let pass.
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

/** What the service was too busy for, and what nobody was there for, is sent again within its attempt. */
function untrueRefusals({ attempts }: Books): string[] {
  return attempts
    .filter(({ job_id }) => job_id === null)
    .filter(({ state, kind, text }) =>
      state === 'refused' ? !refusals.has(kind) : /ECONNREFUSED/.test(text ?? ''),
    )
    .map((row) => `attempt ${row.attempt} of scene ${row.scene} is ${row.state} (${row.kind}: ${row.text})`);
}

/** Null if the run stopped before the submission was taken. */
const refusals: ReadonlySet<string | null> = new Set([
  null,
  'input-refused',
  'key-refused',
  'account-unusable',
  'endpoint-unknown',
]);

/** Nothing was submitted for a scene after the picture that was saved for it had been handed out. */
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

/** No result ran out of its retention while runs were there to collect it. */
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

/** In this time of a stretch a poll may meet one trouble and the wait after it. */
const beginningMs = 1_500;

/** Nobody follows a redirect, least of all with the key. */
function strayRequests({ strays, strayKeys }: ServiceReport): string[] {
  if (strays === 0) return [];
  return [`${strays} requests came where a redirect led, ${strayKeys} of them with the key`];
}
