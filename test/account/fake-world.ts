/** Reads what a fake world has left, in the form that the account checks. */
import type { FakeJob } from '../fakes/fake-service.ts';
import { retentionMs } from '../fakes/service-jobs.ts';
import type { World } from '../fakes/world.ts';
import type { JobSeen, Left, PictureSeen } from './account.ts';
import { readBooks, type Attempt } from './books.ts';
import { sha256 } from './read-folder.ts';

export interface WorldJob extends JobSeen {
  job: FakeJob;
}

export function leftBy(world: World): Left<WorldJob> {
  return {
    jobs: world.service.jobs.map(jobSeen),
    books: readBooks(world.db, 'text'),
    pictures: picturesOf(world),
    keptAnswers: new Set(world.answers.kept.keys()),
  };
}

function jobSeen(job: FakeJob): WorldJob {
  const { id, scene, polls, plan } = job;
  const pictures = plan.pictures ?? [{ base64: Buffer.from(`picture of ${id}`).toString('base64') }];
  const made = pictures.map((picture) => {
    if ('url' in picture) return `picture at ${picture.url}`;
    return 'base64' in picture ? Buffer.from(picture.base64, 'base64').toString() : '';
  });
  return { id, scene, polls, made, isNamed: plan.isAnswerLost !== true, job };
}

function picturesOf({ images }: World): Map<string, PictureSeen> {
  const seen = (made: string): PictureSeen => ({
    made,
    sha256: sha256(made),
    bytes: Buffer.byteLength(made),
  });
  return new Map([...images.files].map(([file, content]) => [file, seen(content)]));
}

/**
 * Returns the allowed final states of an attempt. A paid result must be collected, unless the service had deleted it or
 * somebody cancelled the job.
 */
export function fatesOf(
  { job: { plan, completesAt, isCancelled } }: WorldJob,
  { settled_at }: Attempt,
): string[] {
  const { failure, pictures = [] } = plan;
  const settledAt = settled_at ?? Infinity;
  // If the job waited for a setting, its answer was kept beyond the retention.
  if (settledAt >= completesAt + retentionMs) return [plan.place === undefined ? 'expired expired' : 'saved'];
  if (isCancelled) return ['failed job-cancelled', 'failed cancelled', 'failed job-overdue'];
  if (settledAt < completesAt) return ['failed job-overdue'];
  if (failure !== undefined) return [`failed ${failure.kind}`];
  const bad = pictures.find((one) =>
    'base64' in one
      ? Buffer.from(one.base64, 'base64').includes('bad')
      : 'url' in one && one.url.includes('bad'),
  );
  if (bad === undefined) return ['saved'];
  if (bad.isClip === true) return ['failed bad-clip'];
  return [bad.named === undefined ? 'failed bad-picture' : 'failed bad-file'];
}
