/** Finds out what the next run of a batch would do, by doing it to a private copy of the checkpoint. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { assertPlainFile, realPath } from '../lib/files/temporary-files.ts';
import { copyDatabase } from '../lib/sqlite/copy-database.ts';
import { type Database, UnusableDatabase } from '../lib/sqlite/database.ts';
import { isLocked } from '../lib/sqlite/exclusive-lock.ts';
import { plural } from '../lib/text/format.ts';
import { assertLockUsable, isBatch, isBatchInUse } from '../runner/checkpoint/batch-lock.ts';
import { markFile } from '../runner/checkpoint/find-loss.ts';
import { asDamage } from '../runner/checkpoint/damage.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import {
  readExperience,
  readFoundAt,
  readPaidBefore,
  readSetAside,
} from '../runner/checkpoint/read-for-plan.ts';
import { readNamedJobs } from '../runner/checkpoint/recorded-pictures.ts';
import type { Config } from '../runner/config/config.ts';
import { TemplateError } from '../runner/config/template.ts';
import type { Attempt } from '../runner/core/attempt.ts';
import { scenesPerRow } from '../runner/core/expansion.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import { type Forecast, forecast } from '../runner/core/forecast.ts';
import { lackingText, withoutFormat } from '../runner/core/picture.ts';
import {
  type BatchPlan,
  describeEdits,
  endpointChange,
  type FirstRequest,
  type Plan,
} from '../runner/core/batch-plan.ts';
import { newestRules, type Part, type SceneCounts, sceneRules } from '../runner/core/scene.ts';
import { formatCost, pricingOf } from '../runner/core/spending.ts';
import { readExpansion } from '../runner/list/read-expansion.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { assertDecoder } from '../runner/images/ffmpeg.ts';
import { assertNoUnknownPictures } from '../runner/pipeline/adopt.ts';
import { pictureName, PictureNames } from '../runner/pipeline/picture-names.ts';
import type { Checkpoint } from '../runner/pipeline/ports.ts';
import { finishMoves } from '../runner/pipeline/recover.ts';
import { leftMsAt } from '../runner/pipeline/submission-limits.ts';
import { type PipelineConfig } from '../runner/pipeline/pipeline-config.ts';
import { assertNoneInFolder, beginBatch, type BegunBatch, imagesInFolder } from './begin.ts';
import { type BeginChoices, unknownPicturesOf } from './start-choices.ts';
import { batchLists } from './lists.ts';
import { assertPlaceUsable } from './pictures-place.ts';
import type { OpenRecord } from './record.ts';
import { configuredArguments } from './refusal.ts';
import { type LocalService, submissionOf } from './connect-service.ts';

export interface PlanChoices extends BeginChoices {
  part: Part | undefined;
  /** True if access to the bucket of the pictures is tested with a small object. */
  isChecked: boolean;
  requests: number;
}

interface PlanRequest {
  /** Path of pipeline.yaml as given. */
  file: string;
  config: Config;
  choices: PlanChoices;
}

interface PlanEdges {
  localService: LocalService;
  /** Called with a sentence when a bucket does not answer. */
  onTrouble: (text: string) => void;
}

/**
 * Plans the next run. Refuses what a run refuses, in the same order and with the same words. Undefined if
 * `signal` aborts before the comparison is complete. Throws its `AbortError` if the manifest is still being
 * read.
 */
export async function planOnCopy(
  { file, config, choices: options }: PlanRequest,
  record: OpenRecord,
  { localService, onTrouble }: PlanEdges,
  signal: AbortSignal,
): Promise<BatchPlan | undefined> {
  const copy = temporaryFolder();
  let scenes: ReadScenes | undefined;
  let begun: BegunBatch | undefined;
  try {
    assertLockUsable(record.dir);
    const isRunning = record.isInUse();
    await copyCheckpoint(record.dir, copy);
    const recordKind = isBatch(record.dir) ? 'own' : undefined;
    scenes = await batchLists(
      config,
      { dir: copy, recordKind, isAdopting: options.isAdopting, onTrouble },
      signal,
    );
    begun = await beginBatch(file, config, scenes, copy, options, record.dir);
    await assertLocalDatabase(config, copy, localService);
    if (config.check.decode) await assertDecoder();
    if (options.isChecked) {
      const isAnyAccepted = unknownPicturesOf(options) !== 'ask';
      const { env, proxies } = config;
      const edges = { env, proxies, onTrouble };
      const assertNew = () => assertNoneInFolder(file, config, copy);
      await assertPlaceUsable(config.output.dir, begun.opened, { isAnyAccepted, assertNew }, edges);
    }
    const changes = await compare(config, begun, scenes, options, signal);
    return (
      changes && {
        isRunning,
        changes,
        notes: [...scenes.notes, ...editNotes(config, scenes)],
        remarks: scenes.remarks,
        ...(await planFacts(file, config, begun, copy, options, changes)),
      }
    );
  } catch (error) {
    // This code writes nothing to the output folder, so the temporary folder must be full.
    if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'SQLITE_FULL') throw noTemporary(error);
    throw error instanceof UnusableDatabase ? namedAs(error, copy, config.output.dir) : error;
  } finally {
    scenes?.list.close();
    await begun?.opened.close();
    rmSync(copy, { recursive: true, force: true });
  }
}

function editNotes({ acceptEdits }: Config, { edits }: ReadScenes): string[] {
  if (edits === undefined) return [];
  const asks = acceptEdits === undefined ? '; on a terminal, a run asks for --accept-edits' : '';
  return [describeEdits(edits) + asks];
}

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'nightrender-plan-'));
  } catch (error) {
    throw noTemporary(error);
  }
}

function noTemporary(error: unknown): FatalFailure {
  const text = `A plan needs a copy of the checkpoint, but the folder for temporary files, ${tmpdir()}, cannot be used or is full (${codeOf(error)}); free some space there, or set TMPDIR to another folder`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code);
}

async function copyCheckpoint(dir: string, copy: string): Promise<void> {
  const name = 'checkpoint.sqlite';
  await copyDatabase(join(dir, name), join(copy, name), () => isBatchInUse(dir));
  // The commit marker of a live run is newer than the copy.
  assertPlainFile(markFile(dir));
  if (!isBatchInUse(dir) && existsSync(markFile(dir))) await copyFile(markFile(dir), markFile(copy));
}

/** Checks that the database of the local service is usable, too. */
async function assertLocalDatabase(
  { endpoint, output }: Config,
  copy: string,
  localService: LocalService,
): Promise<void> {
  if (endpoint.baseUrl !== 'local') return;
  const folder = join(output.dir, 'local-service');
  const [store, copied] = [join(folder, 'service.sqlite'), join(copy, 'local-service.sqlite')];
  if (isLocked(join(folder, 'lock.sqlite'))) return;
  await copyDatabase(store, copied, () => false);
  try {
    await localService.assertDatabase(copied);
  } catch (error) {
    throw error instanceof UnusableDatabase ? namedAs(error, copied, store) : error;
  }
}

/** Replaces the path of the copy by that of the original, which the user knows. */
function namedAs(error: UnusableDatabase, copy: string, original: string): UnusableDatabase {
  return new UnusableDatabase(error.message.replaceAll(copy, original));
}

const adopting = 'the run decides which pictures can be adopted (--adopt); their scenes are not rendered';

async function compare(
  config: Config,
  { opened: { checkpoint, names } }: BegunBatch,
  { list }: ReadScenes,
  options: PlanChoices,
  signal: AbortSignal,
): Promise<Plan | undefined> {
  // No files are renamed here, but a name that a picture is about to leave counts as free.
  const freed = new Set<string>();
  const move = async (from: string): Promise<boolean> => {
    freed.add(from);
    return true;
  };
  const recordMoves = (): Promise<void> => finishMoves(checkpoint, { move });
  await recordMoves();
  const changes = await checkpoint.reconcile(list, signal, options.part);
  await recordMoves();
  const images = imagesInFolder(config);
  if (changes === undefined || images === undefined || unknownPicturesOf(options) !== 'ask') return changes;
  const whichExist = async (files: string[]): Promise<string[]> =>
    images.whichExist(files.filter((file) => !freed.has(file)));
  await assertNoUnknownPictures(checkpoint, { whichExist }, { ...config, names });
  return changes;
}

/** Returns everything of the plan that is read after the comparison. Records attempts, so `copy` must be a copy. */
async function planFacts(
  file: string,
  config: Config,
  { opened }: BegunBatch,
  copy: string,
  options: PlanChoices,
  { heldSeeds = 0 }: Plan,
) {
  const { checkpoint } = opened;
  const pricing = pricingOf(config);
  const expectMs = config.pricing?.expect;
  const { part, ...counts } = await checkpoint.counts();
  const db = openCheckpointForReading(copy);
  if (db === undefined) throw new Error('the copy that was just written is missing');
  try {
    const work = {
      scenes: (part ?? counts).waiting,
      concurrency: config.concurrency,
      pricing,
      // ComfyUI runs one job at a time, however many are in flight.
      expectMs: expectMs && expectMs * (config.service.kind === 'comfyui' ? config.concurrency : 1),
      limits: config.limits,
      leftMs: leftMsAt(config.limits, Date.now()),
    };
    const progress = { counts, part: part ?? null, setAside: readSetAside(db) };
    const change = endpointChange(await checkpoint.madeAt(), counts, config.endpoint);
    const expected = forecast(work, readExperience(db, pricing));
    const misnamed = await misnamedText(db, file, { ...config, names: opened.names });
    // Must be last, because it records attempts.
    const requests = await firstRequests(
      db,
      checkpoint,
      { ...config, names: opened.names },
      options.requests,
    );
    return {
      ...progress,
      forecast: expected,
      atMost: part === undefined && heldSeeds > 0 ? atMostOf(expected, heldSeeds) : null,
      requests,
      foundAt: config.output.media === undefined ? readFoundAt(db) : null,
      warning: change ?? (options.isAdopting ? adopting : null),
      lacking: lackingText(await checkpoint.lackingFiles()) ?? null,
      misnamed,
    };
  } finally {
    db.close();
  }
}

/** Number of jobs between two turns of the event loop. */
const jobsInTurn = 500;

async function misnamedText(
  db: Database,
  file: string,
  config: Config & Pick<PipelineConfig, 'names'>,
): Promise<string | null> {
  const names = new PictureNames({ ownerOf: () => Promise.resolve(undefined) }, config);
  let [seen, count, example] = [0, 0, ''];
  try {
    for (const job of readNamedJobs(db)) {
      const misfit = names.misfit(job, job.files);
      if (misfit !== undefined) {
        if (count === 0) example = `${misfit.file} would be ${misfit.wanted}`;
        count += job.files.length;
      }
      seen += 1;
      if (seen % jobsInTurn === 0) await nextTurn();
    }
  } catch (error) {
    // The run reports damage and impossible names itself, after it has collected the jobs in flight.
    if (asDamage(error) === undefined && !(error instanceof TemplateError)) throw error;
    return null;
  }
  if (count === 0) return null;
  const rename = `nightrender verify ${configuredArguments(file, config)} --rename`;
  return `${plural(count, 'saved file')} would get another name now (\`output.name\`): ${example}. They keep theirs; \`${rename}\` renames them, after a run if the list was edited`;
}

function atMostOf({ scenes, cost }: Forecast, more: number): NonNullable<BatchPlan['atMost']> {
  const all = scenes + more;
  return { scenes: all, cost: cost && all * cost.perScene };
}

/** Placeholder in names for a seed that only the job's output will contain. */
const unknownSeed = 'SEED';

/** Returns the first requests. Records attempts like a run, so the checkpoint must be a copy. */
async function firstRequests(
  db: Database,
  checkpoint: Checkpoint,
  config: Config & Pick<PipelineConfig, 'names'>,
  limit: number,
): Promise<FirstRequest[]> {
  const names = new PictureNames(checkpoint, config);
  // The format of an original or a clip is known only when it arrives.
  const shown = (file: string): string =>
    config.output.keep === 'original' || config.output.media !== undefined
      ? `${withoutFormat(file)}.*`
      : file;
  const requests: FirstRequest[] = [];
  for (const attempt of await claimFirst(checkpoint, config, limit)) {
    const { sceneId, columns, number, input, endpoint } = attempt;
    const wanted = pictureName(config, { id: sceneId, columns, input, seed: unknownSeed, index: 1 });
    const [file = wanted] = await names.reserve(attempt, [{ seed: unknownSeed }]);
    requests.push({
      scene: sceneId,
      attempt: number,
      before: readPaidBefore(db, attempt.key),
      ...submissionOf(config, endpoint, input),
      file: shown(file),
      taken: file === wanted ? null : shown(wanted),
    });
  }
  return requests;
}

/** Claims scenes in the order of a run: due scenes, later ones, then those in progress during crashes. */
async function claimFirst(checkpoint: Checkpoint, { endpoint }: Config, limit: number): Promise<Attempt[]> {
  const now = Date.now();
  const attempts = await checkpoint.claim(limit, endpoint, now);
  attempts.push(...(await checkpoint.claim(limit - attempts.length, endpoint, now, Number.MAX_SAFE_INTEGER)));
  while (attempts.length < limit) {
    const suspect = await checkpoint.claimSuspect(endpoint, now);
    if (suspect === undefined) break;
    attempts.push(suspect);
  }
  return attempts;
}

interface Planned {
  /** Path of pipeline.yaml as given. */
  file: string;
  counts: SceneCounts;
  changes: Pick<Plan, 'heldSeeds'>;
  forecast: Pick<Forecast, 'scenes' | 'cost'>;
  /** Maximum number of additional scenes, once earlier batches have their results. */
  upTo: number;
}

/** Several plans in one answer: their sum, and the scenes that a stage may get from the batch before it. */
export class PlansTogether {
  readonly #plans: Pick<Planned, 'forecast' | 'upTo'>[] = [];
  /** Keyed by absolute path. */
  readonly #planned = new Map<string, { scenes: number; hasPictures: boolean }>();

  get count(): number {
    return this.#plans.length;
  }

  add({ file, counts, changes, forecast: expected, upTo }: Planned): void {
    const { waiting, active, saved } = counts;
    const more = upTo + (changes.heldSeeds ?? 0);
    this.#plans.push({ forecast: expected, upTo: more });
    this.#planned.set(realPath(file), { scenes: waiting + active + more, hasPictures: saved > 0 });
  }

  /** Adds a stage of a batch that has no results yet. */
  addUnread({ file }: Config, upTo: number): void {
    this.#plans.push({ forecast: { scenes: 0, cost: null }, upTo });
    this.#planned.set(realPath(file), { scenes: upTo, hasPictures: false });
  }

  /** Returns the additional scenes of a stage of an added batch. Undefined for any other batch. */
  async comingTo(
    config: Config,
    signal: AbortSignal,
  ): Promise<{ upTo: number; isUnread: boolean } | undefined> {
    const before = config.stage && this.#planned.get(realPath(config.stage.from));
    if (before === undefined) return undefined;
    const { expansion } = await readExpansion(config, sceneRules[newestRules], signal);
    const perRow = expansion === undefined ? 1 : scenesPerRow(expansion);
    return { upTo: before.scenes * perRow, isUnread: !before.hasPictures };
  }

  /** Describes what the runs would submit. Includes the price if all have one in the same currency. */
  sum(): string {
    const all = this.#plans.map((plan) => plan.forecast).filter(({ scenes }) => scenes > 0);
    const scenes = all.reduce((sum, each) => sum + each.scenes, 0);
    const [currency, ...others] = new Set(all.map(({ cost }) => cost?.currency));
    const isPriced = currency !== undefined && others.length === 0;
    const spent = all.reduce((sum, { cost }) => sum + (cost?.amount ?? 0), 0);
    const price = isPriced ? `, for about ${formatCost({ spent, currency })}` : '';
    const upTo = this.#plans.reduce((sum, each) => sum + each.upTo, 0);
    const more = upTo === 0 ? '' : `; up to ${plural(upTo, 'scene')} more, as results come in`;
    return `Together they would submit ${plural(scenes, 'scene')}${price}${more}.`;
  }
}

/** Describes the additional scenes of a stage, next to its plan or instead of it. */
export function comingText(from: string, upTo: number): string {
  return `up to ${plural(upTo, 'scene')} once ${from} has their results`;
}
