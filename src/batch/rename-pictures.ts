/** Gives the saved pictures of a batch the names that pipeline.yaml gives now (`nightrender verify --rename`). */
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { pictureRepair } from '../runner/checkpoint/repair-checkpoint.ts';
import type { Book } from './book.ts';
import { maintenanceOptions, ownImages } from './pictures-place.ts';
import { shownPath } from './refusal.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { type NamedJob, readNamedJobs } from '../runner/checkpoint/recorded-pictures.ts';
import type { Config } from '../runner/config/config.ts';
import { TemplateError } from '../runner/config/template.ts';
import { attemptFile, nameKey, withSuffix } from '../runner/core/naming.ts';
import { formatOfFile, kindOfFile, sidecarPath, withFormat, withoutFormat } from '../runner/core/picture.ts';
import type { MaintainedImageStore } from '../runner/images/image-store.ts';
import type { Place } from '../runner/images/place.ts';
import { sidecarEndings } from '../runner/images/sidecars.ts';
import { PictureNames } from '../runner/pipeline/picture-names.ts';
import { finishMoves } from '../runner/pipeline/recover.ts';
import type { NameOwner } from '../runner/pipeline/ports.ts';
import { assertMovable } from './move.ts';

export interface RenamedPictures {
  /** Number of files with a new name. */
  renamed: number;
  /** Number of files that keep their names, because a file of their job is missing or has another size. */
  missing: number;
}

/** The part of `Batch` that a rename needs. */
interface BatchToRename {
  config(needsKey: boolean): Promise<Config>;
  upkeep<T>(work: (book: Book) => Promise<T> | T): Promise<T>;
}

/**
 * Gives saved pictures the names that the file gives now. New names are on record before the first file is
 * renamed, so the next start of any kind finishes what was interrupted. `report` writes the report anew.
 */
export async function renamePictures(
  batch: BatchToRename,
  report: () => Promise<unknown>,
): Promise<RenamedPictures> {
  const config = await batch.config(false);
  const options = maintenanceOptions(config.output);
  const onImages = <T>(work: (book: Book, images: MaintainedImageStore, place: Place) => Promise<T>) =>
    batch.upkeep((book) =>
      book.withImages(options, async (images, places) => {
        await places.assertBegun();
        await ownImages(places, book.db);
        return work(book, images, places.images);
      }),
    );
  // A shared checkpoint keeps the changes of one `upkeep` together, so decisions and renames are separate.
  const finish = () => onImages(({ db }, images) => finishMoves(pictureRepair(db), images));
  const finishAll = async (): Promise<void> => {
    await finish();
    if ((await batch.upkeep(({ db }) => pictureRepair(db).restoreNames())) > 0) await finish();
  };
  await finishAll();
  const endings = sidecarEndings(options.beside ?? []);
  const renamed = await onImages(({ db }, _, place) => decideNames(db, place, config, endings));
  if (renamed.renamed > 0) await finishAll();
  const isReportOld = await batch.upkeep(({ db }) => readBatch(db)?.isRenamed === true);
  if (isReportOld) {
    await report();
    await batch.upkeep(async ({ db }) => {
      const repair = pictureRepair(db);
      if ((await repair.pendingMoves()).length === 0) repair.reported();
    });
  }
  return renamed;
}

interface NewName {
  key: number;
  from: string;
  to: string;
}

async function decideNames(
  db: Database,
  place: Place,
  config: Config,
  endings: string[],
): Promise<RenamedPictures> {
  assertMovable(db, '--rename', 'start the run once, then rename');
  const names = { ...config, names: readBatch(db)?.names ?? 'id' };
  const judge = new PictureNames({ ownerOf: () => Promise.resolve(undefined) }, names);
  const isMisnamed = (job: NamedJob): boolean => {
    try {
      const files = job.files.map((file) => ({ ...file, file: file.at }));
      return judge.misfit(job, files) !== undefined;
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      const text = `no name can be made for scene ${job.sceneId}: ${error.message}. If the list has a new column, start the run once, then rename`;
      throw new ConfigError([{ where: config.placeOf(['output', 'name']), text }]);
    }
  };
  const misnamed = [...readNamedJobs(db)].filter(isMisnamed);
  const jobs = await whole(place, misnamed);
  const moving = new Set(jobs.flatMap(({ files }) => files.map(({ key }) => key)));
  const ownerOf = ownerReader(db, moving);
  const renames = await newNames(new PictureNames({ ownerOf }, names), jobs, place.isNamedByAttempt);
  const taken = new Map(renames.map(({ from, key }) => [nameKey(from), key]));
  const detours = new Set(
    renames.flatMap(({ key, to }) => ((taken.get(nameKey(to)) ?? key) === key ? [] : [key])),
  );
  if (!place.isNamedByAttempt)
    for (const key of await findInTheWay(place, db, renames, endings)) detours.add(key);
  if (renames.length > 0)
    pictureRepair(db).rename(
      renames.map(({ key, to }) => ({
        key,
        name: to,
        by: detours.has(key) ? withSuffix(to, `.renaming-${key}`) : undefined,
      })),
    );
  return { renamed: renames.length, missing: filesOf(misnamed) - filesOf(jobs) };
}

function filesOf(jobs: NamedJob[]): number {
  return jobs.reduce((sum, { files }) => sum + files.length, 0);
}

/** Maximum number of concurrent questions, which a bucket answers over the network. */
const maxQuestions = 32;

/** Returns the jobs whose files are there. A missing file may come back under its name, such as with its disk. */
async function whole(place: Place, jobs: NamedJob[]): Promise<NamedJob[]> {
  const found: NamedJob[] = [];
  const isThere = async ({ files }: NamedJob): Promise<boolean> => {
    for (const { at, bytes } of files) {
      const facts = await place.facts(at);
      if (facts?.kind !== 'file' || facts.bytes !== bytes) return false;
    }
    return true;
  };
  for (let from = 0; from < jobs.length; from += maxQuestions) {
    const slice = jobs.slice(from, from + maxQuestions);
    const there = await Promise.all(slice.map(isThere));
    found.push(...slice.filter((_, i) => there[i]));
  }
  return found;
}

/** Returns the owners of names after the pictures in `moving` have left theirs. */
function ownerReader(db: Database, moving: ReadonlySet<number>) {
  const owner = db.prepare<[string], NameOwner & { picture: number }>(`
    SELECT p.picture, s.id AS sceneId, s.fingerprint FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)
    WHERE p.file_key = ?`);
  // A picture that is missing may come back, and then gets the name that it waits for.
  const waiting = db.prepare<[], { picture: number; file: string; name: string }>(
    'SELECT picture, file, name FROM pictures WHERE move_to IS NOT NULL',
  );
  const awaited = new Map<string, string>();
  for (const { picture, file, name } of waiting.all())
    if (!moving.has(picture)) awaited.set(nameKey(name), file);
  return async (name: string): Promise<NameOwner | undefined> => {
    const found = owner.get(nameKey(awaited.get(nameKey(name)) ?? name));
    return found === undefined || moving.has(found.picture) ? undefined : found;
  };
}

async function newNames(
  names: PictureNames,
  jobs: NamedJob[],
  isNamedByAttempt: boolean,
): Promise<NewName[]> {
  const renames: NewName[] = [];
  for (const job of jobs) {
    const wanted = job.files.map(({ file, seed, label }) => ({
      ...(seed !== undefined && { seed }),
      ...(label !== undefined && { named: { label, kind: kindOfFile(file) } }),
    }));
    const reserved = await names.reserve(job, wanted);
    for (const [i, { key, at, sha256, label }] of job.files.entries()) {
      const name = reserved[i] ?? '';
      const file = isNamedByAttempt ? attemptFile(name, job.key, sha256) : name;
      const format = label === undefined ? formatOfFile(at) : undefined;
      const to = format === undefined ? file : withFormat(file, format);
      if (to !== at) renames.push({ key, from: at, to });
    }
  }
  return renames;
}

/**
 * Returns the pictures whose new name, or that of a file beside them, another picture of the batch still has.
 * Throws `ConfigError` if a file that is not on record has such a name.
 */
async function findInTheWay(
  place: Place,
  db: Database,
  renames: NewName[],
  endings: string[],
): Promise<Set<number>> {
  const wanted = new Map<string, number>();
  for (const { key, to } of renames)
    for (const file of [to, ...endings.map((ending) => sidecarPath(to, ending))])
      wanted.set(nameKey(file), key);
  const recorded = db.prepare<[string], { picture: number; file: string }>(
    'SELECT picture, file FROM pictures WHERE file_key = ?',
  );
  const pictureOf = (file: string): number | undefined => {
    const own = recorded.get(nameKey(file));
    if (own?.file === file) return own.picture;
    for (const ending of endings) {
      const stem = file.endsWith(ending) ? file.slice(0, -ending.length) : undefined;
      const found = stem === undefined ? undefined : recorded.get(nameKey(`${stem}.png`));
      if (found !== undefined && withoutFormat(found.file) === stem) return found.picture;
    }
    return undefined;
  };
  const inTheWay = new Set<number>();
  for await (const { name } of place.list()) {
    const key = wanted.get(nameKey(name));
    if (key === undefined) continue;
    const owner = pictureOf(name);
    if (owner === undefined) {
      const text = `a picture or clip gets the name of this file, which is not on record; nothing was renamed. Move the file away, then give the same command again`;
      throw new ConfigError([{ where: shownPath(`${place.name}/${name}`), text }]);
    }
    if (owner !== key) inTheWay.add(key);
  }
  return inTheWay;
}
