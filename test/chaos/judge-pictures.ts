/** The oracle's eye for pictures: every file is, and always was, what the service made for the scene it is named after. */
import type { Account, JobRecord } from './account.ts';
import type { Evidence } from './evidence.ts';

export function wrongPictures(evidence: Evidence): string[] {
  return [...wrongAtTheEnd(evidence), ...wrongForATime(evidence)];
}

/** Every file is the very picture that the service made for the job and the scene that it is said to be of. */
function wrongAtTheEnd({ declared, account }: Evidence): string[] {
  const jobs = jobsById(account);
  const attempts = new Map(declared.attempts.map((attempt) => [attempt.attempt, attempt]));
  const owned = new Set(declared.pictures.map(({ file }) => file));
  const strangers = [...declared.files.keys()].filter((file) => !owned.has(file));
  const wrong = declared.pictures.flatMap(({ attempt, file, sha256 }) => {
    const row = attempts.get(attempt);
    const job = jobs.get(row?.job_id ?? '');
    const onDisk = declared.files.get(file);
    if (onDisk === undefined) return [`${file} is missing, and the checkpoint has it as saved`];
    if (onDisk !== sha256) return [`${file} is not what the checkpoint says was written`];
    if (job?.sha256 !== onDisk)
      return [`${file} is not what the service made as ${row?.job_id} (${job?.fate})`];
    const isOwn = job.scene === row?.scene && row.state === 'saved' && file === `${job.scene}.png`;
    return isOwn ? [] : [`${file} is the picture of scene ${job.scene}, said to be of ${row?.scene}`];
  });
  return [...wrong, ...strangers.map((file) => `${file} is in the images folder and belongs to no row`)];
}

/** After no death was there a file under a final name that is not a whole picture of its scene. */
function wrongForATime({ sightings, account }: Evidence): string[] {
  const made = new Set(account.jobs.map(({ scene, sha256 }) => `${scene}.png ${sha256}`));
  return sightings
    .filter(({ file, sha256 }) => !made.has(`${file} ${sha256}`))
    .map(({ file }) => `${file} was seen after a death, and it was no whole picture of its scene`);
}

export function jobsById({ jobs }: Account): Map<string, JobRecord> {
  return new Map(jobs.map((job) => [job.id, job]));
}
