/** The oracle's eye for failed scenes: none fails by bad luck, and none that cannot be rendered is tried for ever. */
import type { Account } from './account.ts';
import { declaredAs, refusals, type Curse } from './curses.ts';
import type { Evidence } from './evidence.ts';
import { jobsById } from './judge-pictures.ts';
import type { AttemptRow, SceneRow } from './read-checkpoint.ts';

export function wrongVerdicts(evidence: Evidence): string[] {
  return [...failedWithoutReason(evidence), ...unheededCurses(evidence), ...tooManyTries(evidence)];
}

/** A scene fails where it is refused, where the same came twice, where results are dropped, and where it kills. */
function failedWithoutReason({ declared, account }: Evidence): string[] {
  const brought = broughtAgain(account, declared.attempts);
  const refused = new Set(account.cursed.filter(({ curse }) => isRefused(curse)).map(({ scene }) => scene));
  const dropped = repeated(declared.attempts.filter(({ failure_kind }) => failure_kind === 'no-output'));
  const reasons: Record<string, (scene: string) => boolean> = {
    'input-refused': (scene) => refused.has(scene),
    'bad-picture': (scene) => brought.has(scene),
    'no-output': (scene) => dropped.has(scene),
    quarantined: () => true,
  };
  return declared.scenes
    .filter(({ state, id, failure_kind }) => state === 'failed' && reasons[failure_kind ?? '']?.(id) !== true)
    .map(({ id, failure_kind }) => `scene ${id} has failed (${failure_kind}) without a reason for it`);
}

/** What the service refuses is sent once and never was a job; what is damaged in the same way again has failed. */
function unheededCurses({ declared, account }: Evidence): string[] {
  const scenes = new Map(declared.scenes.map((scene) => [scene.id, scene]));
  const withJobs = new Set(account.jobs.map(({ scene }) => scene));
  const cursed = account.cursed as readonly { scene: string; curse: Curse }[];
  return cursed.flatMap(({ scene, curse }) => {
    const row: SceneRow | undefined = scenes.get(scene);
    const isSetAside = row?.failure_kind === 'quarantined';
    const isDeclared = row?.state === 'failed' && (row.failure_kind === declaredAs[curse] || isSetAside);
    return [
      ...(isDeclared ? [] : [`scene ${scene} (${curse}) is ${row?.state}, ${row?.failure_kind}`]),
      ...(isRefused(curse) && withJobs.has(scene) ? [`scene ${scene} (${curse}) has jobs`] : []),
    ];
  });
}

/** After the same came twice, after two results without output, and after one refusal, nothing more is sent. */
function tooManyTries({ declared, account }: Evidence): string[] {
  const ended = new Set<string>();
  const jobs = jobsById(account);
  const tellings = new Set<string>();
  return declared.attempts.flatMap((row) => {
    const { scene, state, failure_kind } = row;
    if (state === 'refused' && failure_kind === null) return [];
    const again = ended.has(scene) ? [`scene ${scene} was sent again after it had failed`] : [];
    const brought = jobs.get(row.job_id ?? '')?.brought;
    const telling = failure_kind === 'no-output' ? failure_kind : brought;
    const isLast =
      failure_kind === 'input-refused' ||
      (state === 'failed' && typeof telling === 'string' && tellings.has(`${scene} ${telling}`));
    if (state === 'failed') tellings.add(`${scene} ${telling}`);
    if (isLast) ended.add(scene);
    return again;
  });
}

/** Scenes two jobs of which brought the very same bytes, and have failed for it. */
function broughtAgain(account: Account, attempts: readonly AttemptRow[]): Set<string> {
  const jobs = jobsById(account);
  const failed = attempts.filter(({ state }) => state === 'failed');
  const seen = failed.flatMap(({ scene, job_id }) => {
    const brought = jobs.get(job_id ?? '')?.brought ?? null;
    return brought === null ? [] : [{ scene, key: `${scene} ${brought}` }];
  });
  const keys = seen.map(({ key }) => key);
  return new Set(seen.filter(({ key }, i) => keys.indexOf(key) < i).map(({ scene }) => scene));
}

function repeated(attempts: readonly AttemptRow[]): Set<string> {
  const scenes = attempts.map(({ scene }) => scene);
  return new Set(scenes.filter((scene, i) => scenes.indexOf(scene) < i));
}

function isRefused(curse: string): boolean {
  return refusals[curse as Curse] !== undefined;
}
