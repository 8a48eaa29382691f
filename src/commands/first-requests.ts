/** The first requests that a run would send, made as the road makes them. */
import type { SqliteCheckpoint } from '../runner/checkpoint/sqlite-checkpoint.ts';
import type { Attempt } from '../runner/core/attempt.ts';
import type { FirstRequest } from '../runner/core/plan.ts';
import { PictureNames } from '../runner/pipeline/picture-names.ts';
import type { BatchSettings } from '../runner/pipeline/settings.ts';
import { runPath } from '../protocol/paths.ts';

/** Stands in names for what only the output of the job tells. */
const unknownSeed = 'SEED';

/** For a checkpoint that nobody renders from: the attempts are put on record as a run would do it. */
export async function firstRequests(
  checkpoint: SqliteCheckpoint,
  settings: BatchSettings,
  most: number,
): Promise<FirstRequest[]> {
  const names = new PictureNames(checkpoint, settings);
  const requests: FirstRequest[] = [];
  for (const attempt of await claimFirst(checkpoint, settings, most)) {
    const { sceneId, columns, number, input, endpoint } = attempt;
    const wanted = settings.pictureName({ id: sceneId, columns, seed: unknownSeed, index: 1 });
    const [file = wanted] = await names.reserve(attempt, [unknownSeed]);
    requests.push({
      scene: sceneId,
      attempt: number,
      method: 'POST',
      url: endpoint.baseUrl + runPath(endpoint.version, endpoint.id),
      body: { input },
      file,
      taken: file === wanted ? null : wanted,
    });
  }
  return requests;
}

/** As the road takes them: what is due, then what will be, then what the program died with. */
async function claimFirst(
  checkpoint: SqliteCheckpoint,
  { endpoint }: BatchSettings,
  most: number,
): Promise<Attempt[]> {
  const now = Date.now();
  const attempts = await checkpoint.claim(most, endpoint, now);
  attempts.push(...(await checkpoint.claim(most - attempts.length, endpoint, now, Number.MAX_SAFE_INTEGER)));
  while (attempts.length < most) {
    const suspect = await checkpoint.claimSuspect(endpoint, now);
    if (suspect === undefined) break;
    attempts.push(suspect);
  }
  return attempts;
}
