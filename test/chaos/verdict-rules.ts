/**
 * Rules of failed scenes: bad luck alone never makes a scene fail, and a scene that cannot be rendered is not repeated
 * forever.
 */
import type { Attempt, Books } from '../account/books.ts';
import type { ServiceReport } from './service-report.ts';
import { declaredAs, refusals, type Curse } from './curses.ts';

export function wrongVerdicts(books: Books, service: ServiceReport): string[] {
  const brought = new Map(service.jobs.map(({ id, brought: what }) => [id, what]));
  const broughtBy = ({ job_id }: Attempt): string | undefined => brought.get(job_id ?? '') ?? undefined;
  return [
    ...failedWithoutReason(books, service, broughtBy),
    ...unheededCurses(books, service),
    ...tooManyTries(books, broughtBy),
  ];
}

/** Returns a digest of the data that an attempt received as its picture. */
type BroughtBy = (attempt: Attempt) => string | undefined;

/**
 * Checks that a scene fails only if it was refused, got the same damage twice, got no output twice, or was quarantined.
 */
function failedWithoutReason(
  { scenes, attempts }: Books,
  { cursed }: ServiceReport,
  broughtBy: BroughtBy,
): string[] {
  const failed = attempts.filter(({ state }) => state === 'failed');
  const brought = failed.flatMap((row) => {
    const what = broughtBy(row);
    return what === undefined ? [] : [{ scene: row.scene, what }];
  });
  const reasons: Record<string, ReadonlySet<string>> = {
    'input-refused': new Set(cursed.filter(({ curse }) => isRefused(curse)).map(({ scene }) => scene)),
    'bad-picture': repeated(brought, ({ scene, what }) => `${scene} ${what}`),
    'no-output': repeated(
      failed.filter(({ kind }) => kind === 'no-output'),
      ({ scene }) => scene,
    ),
    quarantined: new Set(scenes.map(({ id }) => id)),
  };
  return scenes
    .filter(({ state, id, kind }) => state === 'failed' && reasons[kind ?? '']?.has(id) !== true)
    .map(({ id, kind }) => `scene ${id} has failed (${kind}) without a reason for it`);
}

/** Returns the scenes that have two rows with the same key. */
function repeated<Row extends { scene: string }>(rows: readonly Row[], keyOf: (row: Row) => string) {
  const keys = rows.map(keyOf);
  return new Set(rows.filter((_, i) => keys.indexOf(keys[i] ?? '') < i).map(({ scene }) => scene));
}

/**
 * Checks that a cursed scene has failed for the expected reason, and that a scene whose input is refused never becomes
 * a job.
 */
function unheededCurses({ scenes }: Books, { jobs, cursed }: ServiceReport): string[] {
  const known = new Map(scenes.map((scene) => [scene.id, scene]));
  const withJobs = new Set(jobs.map(({ scene }) => scene));
  return cursed.flatMap(({ scene, curse }) => {
    const row = known.get(scene);
    const isSetAside = row?.kind === 'quarantined';
    const isDeclared = row?.state === 'failed' && (row.kind === declaredAs[curse as Curse] || isSetAside);
    return [
      ...(isDeclared ? [] : [`scene ${scene} (${curse}) is ${row?.state}, ${row?.kind}`]),
      ...(isRefused(curse) && withJobs.has(scene) ? [`scene ${scene} (${curse}) has jobs`] : []),
    ];
  });
}

/**
 * Checks that nothing more is sent after the same damage came twice, after two results without output, or after a
 * refused input.
 */
function tooManyTries({ attempts }: Books, broughtBy: BroughtBy): string[] {
  const ended = new Set<string>();
  const tellings = new Set<string>();
  return attempts.flatMap((row) => {
    const { scene, state, kind } = row;
    if (state === 'refused' && kind === null) return [];
    const again = ended.has(scene) ? [`scene ${scene} was sent again after it had failed`] : [];
    const telling = kind === 'no-output' ? kind : broughtBy(row);
    const isAgain = state === 'failed' && telling !== undefined && tellings.has(`${scene} ${telling}`);
    if (state === 'failed') tellings.add(`${scene} ${telling}`);
    if (kind === 'input-refused' || isAgain) ended.add(scene);
    return again;
  });
}

function isRefused(curse: string): boolean {
  return refusals[curse as Curse] !== undefined;
}
