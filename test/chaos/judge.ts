/** The oracle: holds what the program declares against what the service knows, and complains of every difference. */
import type { JobRecord } from './account.ts';
import type { Evidence } from './evidence.ts';
import { jobsById, wrongPictures } from './judge-pictures.ts';
import type { AttemptRow } from './read-checkpoint.ts';

/** One sentence for each thing that is wrong; none where all promises were kept. */
export function judge(evidence: Evidence): string[] {
  const { quickCheck } = evidence.declared;
  return [
    ...(quickCheck === 'ok' ? [] : [`the checkpoint is damaged: ${quickCheck}`]),
    ...lostScenes(evidence),
    ...wrongPictures(evidence),
    ...undeclaredJobs(evidence),
    ...forgottenAnswers(evidence),
    ...untrueAttempts(evidence),
    ...needlessJobs(evidence),
    ...resultsLeftToExpire(evidence),
  ];
}

/** Every scene is saved with a picture, or has failed for a reason. */
function lostScenes({ wanted, declared }: Evidence): string[] {
  const states = new Map(declared.scenes.map((scene) => [scene.id, scene]));
  const attempts = new Map(declared.attempts.map((attempt) => [attempt.attempt, attempt]));
  const pictured = new Set(declared.pictures.map(({ attempt }) => attempts.get(attempt)?.scene));
  return wanted.flatMap((id) => {
    const scene = states.get(id);
    if (scene === undefined) return [`scene ${id} is lost: the checkpoint does not know it`];
    if (scene.state === 'saved') return pictured.has(id) ? [] : [`scene ${id} is saved without a picture`];
    const isDeclared = scene.state === 'failed' && scene.failure_kind !== null;
    return isDeclared ? [] : [`scene ${id} is lost: it is left ${scene.state}`];
  });
}

/** Jobs are no more than the attempts that are declared, scene by scene, each under its id or as unanswered. */
function undeclaredJobs({ declared, account }: Evidence): string[] {
  const known = new Set(declared.attempts.flatMap(({ job_id }) => job_id ?? []));
  const unanswered = countBy(declared.attempts.filter(isUnanswered), ({ scene }) => scene);
  const unknown = countBy(
    account.jobs.filter(({ id }) => !known.has(id)),
    ({ scene }) => scene,
  );
  return [...unknown].flatMap(([scene, jobs]) => {
    const covered = unanswered.get(scene) ?? 0;
    if (jobs <= covered) return [];
    return [
      `scene ${scene} has ${jobs} jobs at the service that no attempt names, and ${covered} unanswered attempts`,
    ];
  });
}

/**
 * No id is lost that was told to a run with time to write it down. On a busy machine an answer may come after the
 * run has given up waiting, so a few are let pass.
 */
function forgottenAnswers({ declared, account, up }: Evidence): string[] {
  const known = new Set(declared.attempts.map(({ job_id }) => job_id));
  const forgotten = account.jobs.filter(
    ({ id, isNamed, acceptedAt }) =>
      isNamed &&
      !known.has(id) &&
      up.some(({ from, until }) => from < acceptedAt && acceptedAt + enoughMs < until),
  );
  if (forgotten.length <= mostForgotten) return [];
  return [`${forgotten.length} jobs were named to a run that was up, and are in no attempt`];
}

const enoughMs = 2_000;
const mostForgotten = 2;

/** What the checkpoint says of its jobs is what the service saw. */
function untrueAttempts({ declared, account }: Evidence): string[] {
  const jobs = jobsById(account);
  const named = new Set<string>();
  const setAside = new Set(
    declared.scenes.filter(({ failure_kind }) => failure_kind === 'quarantined').map(({ id }) => id),
  );
  return declared.attempts.flatMap((row) => {
    if ((row.state === 'intended' || row.state === 'submitted') && !setAside.has(row.scene))
      return [`attempt ${row.attempt} of scene ${row.scene} is left ${row.state}`];
    if (row.job_id === null) return [];
    if (named.has(row.job_id)) return [`job ${row.job_id} belongs to two attempts`];
    named.add(row.job_id);
    const job = jobs.get(row.job_id);
    if (job === undefined) return [`attempt ${row.attempt} names ${row.job_id}, which the service never had`];
    if (job.scene !== row.scene)
      return [`job ${row.job_id} of scene ${job.scene} is under scene ${row.scene}`];
    return untrueEnd(row, job);
  });
}

function untrueEnd(row: AttemptRow, job: JobRecord): string[] {
  const what = `job ${job.id} of scene ${job.scene} (${job.fate})`;
  if (row.state === 'saved' && job.fate !== 'good') return [`${what} is said to be saved`];
  if (row.state === 'expired' && job.deniedTruly + job.deniedFalsely === 0)
    return [`${what} is said to have expired, and the service never said so`];
  const isGivenUp = row.state === 'failed' && !givenUpKinds.has(row.failure_kind ?? '');
  if (isGivenUp && job.fate === 'good' && !job.isCancelled)
    return [`${what} is said to have failed (${row.failure_kind})`];
  return [];
}

/** Failures that speak of the time that a good job took, or of how often its result was met with a death. */
const givenUpKinds = new Set(['job-overdue', 'quarantined']);

/** Nothing was submitted for a scene after the picture that was saved for it had been handed out. */
function needlessJobs({ declared, account }: Evidence): string[] {
  const jobs = jobsById(account);
  const saved = new Map(
    declared.attempts.filter(({ state }) => state === 'saved').map(({ scene, job_id }) => [scene, job_id]),
  );
  return account.jobs.flatMap((job) => {
    const kept = jobs.get(saved.get(job.scene) ?? '');
    const deliveredAt = kept?.deliveredAt ?? Infinity;
    if (kept === job || job.acceptedAt <= deliveredAt) return [];
    return [
      `scene ${job.scene} was submitted again (${job.id}) after its picture had been handed out (${kept?.id})`,
    ];
  });
}

/** No result ran out of its retention while a run was there to collect it. */
function resultsLeftToExpire({ declared, account, up, retentionMs }: Evidence): string[] {
  const rows = new Map(declared.attempts.map((row) => [row.job_id, row]));
  return account.jobs.flatMap((job) => {
    const state = rows.get(job.id)?.state;
    const isLost = state === 'expired' || state === 'submitted';
    if (!isLost || job.endedAt === null || job.isAged || job.deniedFalsely > 0) return [];
    const { endedAt } = job;
    const isCovered = up.some(
      ({ from, until }) => Math.min(until, endedAt + retentionMs) - Math.max(from, endedAt) > retentionMs / 2,
    );
    return isCovered ? [`the result of ${job.id} (scene ${job.scene}) expired while a run was up`] : [];
  });
}

export function isUnanswered({ state, job_id }: AttemptRow): boolean {
  return state === 'unanswered' && job_id === null;
}

export function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
