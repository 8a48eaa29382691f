/** The oracle: holds what the program declares against what the service knows, and complains of every difference. */
import type { JobRecord } from './account.ts';
import type { Evidence } from './evidence.ts';
import { jobsById, wrongPictures } from './judge-pictures.ts';
import { wrongVerdicts } from './judge-verdicts.ts';
import type { AttemptRow } from './read-checkpoint.ts';

/** One sentence for each thing that is wrong; none where all promises were kept. */
export function judge(evidence: Evidence): string[] {
  const { quickCheck } = evidence.declared;
  return [
    ...(quickCheck === 'ok' ? [] : [`the checkpoint is damaged: ${quickCheck}`]),
    ...lostScenes(evidence),
    ...wrongVerdicts(evidence),
    ...wrongPictures(evidence),
    ...undeclaredJobs(evidence),
    ...forgottenAnswers(evidence),
    ...untrueAttempts(evidence),
    ...needlessJobs(evidence),
    ...resultsLeftToExpire(evidence),
    ...strayRequests(evidence),
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
 * No id is lost that was told to a run with time to write it down. On a busy machine an answer may come after the run
 * has given up waiting for it, and only where the run says so that is let pass.
 */
function forgottenAnswers({ declared, account, up }: Evidence): string[] {
  const known = new Set(declared.attempts.map(({ job_id }) => job_id));
  const late = new Set(declared.attempts.filter(wasLate).map(({ scene }) => scene));
  return account.jobs
    .filter(({ id, isNamed, scene }) => isNamed && !known.has(id) && !late.has(scene))
    .filter(({ acceptedAt }) =>
      up.some(({ from, until }) => from < acceptedAt && acceptedAt + enoughMs < until),
    )
    .map(({ id, scene }) => `${id} of scene ${scene} was named to a run that was up, and is in no attempt`);
}

const enoughMs = 2_000;

function wasLate(row: AttemptRow): boolean {
  return isUnanswered(row) && /no answer came in time|not complete after/.test(row.failure_text ?? '');
}

/** What the checkpoint says of its jobs is what the service saw. */
function untrueAttempts({ declared, account }: Evidence): string[] {
  const jobs = jobsById(account);
  const named = new Set<string>();
  return declared.attempts.flatMap((row) => {
    if (row.state === 'intended' || row.state === 'submitted')
      return [`attempt ${row.attempt} of scene ${row.scene} is left ${row.state}`];
    if (row.job_id === null) return untrueRefusal(row);
    if (named.has(row.job_id)) return [`job ${row.job_id} belongs to two attempts`];
    named.add(row.job_id);
    const job = jobs.get(row.job_id);
    if (job === undefined) return [`attempt ${row.attempt} names ${row.job_id}, which the service never had`];
    if (job.scene !== row.scene)
      return [`job ${row.job_id} of scene ${job.scene} is under scene ${row.scene}`];
    return untrueEnd(row, job);
  });
}

/** What the service was too busy for, and what nobody was there for, is sent again within its attempt. */
function untrueRefusal({ attempt, scene, state, failure_kind, failure_text }: AttemptRow): string[] {
  const what = `attempt ${attempt} of scene ${scene} is ${state} (${failure_kind}: ${failure_text})`;
  if (state === 'refused') return refusals.has(failure_kind) ? [] : [what];
  return /ECONNREFUSED/.test(failure_text ?? '') ? [what] : [];
}

/** Null where the run stopped before it was taken. */
const refusals: ReadonlySet<string | null> = new Set([
  null,
  'input-refused',
  'key-refused',
  'account-unusable',
  'endpoint-unknown',
]);

function untrueEnd({ state, failure_kind }: AttemptRow, job: JobRecord): string[] {
  const what = `job ${job.id} of scene ${job.scene} (${job.fate})`;
  if (state === 'saved' && job.fate !== 'good') return [`${what} is said to be saved`];
  if (state === 'expired' && job.denied === 0)
    return [`${what} is said to have expired, and the service never said so, or only once and wrongly`];
  // How often a job was met with a death, only the program knows.
  if (state !== 'failed' || failure_kind === 'quarantined' || failure_kind === job.kind) return [];
  return [`${what} is said to have failed as ${failure_kind}, instead of ${job.kind ?? 'not at all'}`];
}

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

/** No result ran out of its retention while runs were there to collect it. */
function resultsLeftToExpire({ declared, account, up, retentionMs }: Evidence): string[] {
  const rows = new Map(declared.attempts.map((row) => [row.job_id, row]));
  return account.jobs.flatMap(({ id, scene, endedAt, isAged }) => {
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

/** In this time of a stretch a look may meet one trouble and the wait after it. */
const beginningMs = 1_500;

/** Nobody follows a redirect, least of all with the key. */
function strayRequests({ account: { strays, strayKeys } }: Evidence): string[] {
  if (strays === 0) return [];
  return [`${strays} requests came where a redirect led, ${strayKeys} of them with the key`];
}

export function isUnanswered({ state, job_id }: AttemptRow): boolean {
  return state === 'unanswered' && job_id === null;
}

export function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
