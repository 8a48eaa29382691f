/** `nightrender verify`: whether every saved picture is still there and whole; `--repair` puts back what is not. */
import type { ReportKeys } from '../runner/config/pipeline-parts.ts';
import { plural } from '../lib/text/format.ts';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import {
  assertSound,
  repairCheckpoint,
  type RepairedCheckpoint,
} from '../runner/checkpoint/repair-checkpoint.ts';
import {
  pictureRepair,
  countSaved,
  readSavedJobs,
  recordedReader,
} from '../runner/checkpoint/recorded-pictures.ts';
import { ConfigError } from '../lib/yaml/problem.ts';

import { endings } from '../runner/core/ending.ts';
import type { Verified, BadPicture } from '../runner/core/verification.ts';
import type { Bucket } from '../lib/s3/bucket.ts';
import { isMarked } from '../runner/images/bucket-owner.ts';
import { bucketInspector } from '../runner/images/bucket-store.ts';
import { savedFiles } from '../runner/images/saved-files.ts';
import { verifyBatch, type VerifyPorts } from '../runner/pipeline/verify-batch.ts';
import type { Database } from '../lib/sqlite/database.ts';
import type { Batch } from '../batch/batch.ts';
import type { Book } from '../batch/book.ts';
import type { OpenRecord } from '../batch/record.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { sidecarEndings } from '../runner/images/sidecars.ts';
import type { MovedCheckpoint } from '../batch/move.ts';
import { maintenanceOptions } from '../batch/output-files.ts';
import { bucketOf, finishMoves, shownImages } from '../batch/pictures-place.ts';
import { runArguments, shownPath } from '../batch/shown-path.ts';
import { systemClock } from '../batch/system-clock.ts';
import { type LoadedCommand, common } from './command.ts';
import { onBatch } from './reply.ts';
import { clearStatus, outColumns, writeOut, writeStatus } from '../terminal/console.ts';
import { hanging } from '../terminal/fit-text.ts';
import { writeJsonLine } from '../terminal/json-lines.ts';
import { screenful } from '../terminal/words.ts';

export const verifyCommand: LoadedCommand = {
  purpose: `Checks every saved picture: its file exists, matches the recorded size and sha256, and decodes to the last pixel. Read-only, also during a run. With --repair, which needs the batch to be idle, a damaged checkpoint is repaired first and kept as checkpoint.sqlite.damaged. Then scenes with a missing or damaged picture are put back; in a folder, damaged files are kept as <name>.damaged, whole ones of the same job as <name>.former. The next run renders the scenes again.`,
  shared: ['output', 'json'],
  options: {
    repair: { type: 'boolean', describe: 'put scenes with missing or damaged pictures back' },
    deep: {
      type: 'boolean',
      describe: 'pictures in a bucket: read and decode each, rather than trust the checksums of the store',
    },
    move: {
      type: 'boolean',
      describe:
        'move pictures and checkpoint to where output.pictures and checkpoint say now, checked; continues where it stopped',
    },
  },
  examples: [
    ['$0 verify pipeline.yaml', 'after a disk was full, moved or repaired'],
    ['$0 verify pipeline.yaml --repair', 'put bad ones back; then nightrender run renders them'],
    ['$0 verify pipeline.yaml --json', 'for a script: a line for each bad picture'],
  ],
  exits: {
    ...common,
    complete: 'every saved picture is there and whole, or --repair has put back what was not',
    incomplete: 'pictures are missing or damaged',
    'already-running': 'a run holds this batch (--repair)',
  },
  work: (argv) => verify(argv),
};

/** Resolves to the exit code. */
export function verify(argv: Record<string, unknown>): Promise<number> {
  const [isRepair, isDeep, isMove] = [argv['repair'] === true, argv['deep'] === true, argv['move'] === true];
  return onBatch(argv, async (batch, json) => {
    const { dir } = batch;
    if (isMove && isRepair) throw new ConfigError([{ where: '--move', text: 'repair first, then move' }]);
    const moved = isMove ? await batch.moveCheckpoint() : undefined;
    let others = batch.arguments;
    const elapsed = (): number => systemClock.elapsed();
    const view = createVerifyView({ json, isRepair, file: () => others, elapsed });
    if (moved !== undefined) view.onCheckpointMoved(moved);
    if (!isRepair) await batch.onRecord((record) => Promise.resolve(assertReadable(dir, record)));
    const settings = isRepair || isMove ? batch.parts.report() : undefined;
    const isThere = isMove && (await batch.read(({ db }) => bucketOf(db))) === settings?.output.pictures;
    if (isThere && moved !== undefined) return 0;
    if (isThere) view.onInPlace();
    const check = async (): Promise<Verified> => {
      if (settings === undefined || isThere) return verifyOnly(batch, view, isDeep);
      if (isMove) return moveAll(batch, view, settings);
      const repaired = await verifyAndRepair(batch, view, isDeep, settings);
      others = repaired.runArguments;
      return repaired.verified;
    };
    const verified = await check();
    if (isMove && verified.good === verified.checked) {
      const { reportMoved } = await import('./report.ts');
      await reportMoved(batch, json);
    }
    // A repair puts back every picture that is not good; what it cannot repair is thrown.
    const ending = isRepair || verified.good === verified.checked ? 'complete' : 'incomplete';
    view.end(verified, endings[ending].exitCode);
    return endings[ending].exitCode;
  });
}

/** The file of a run at work is checked by that run. */
function assertReadable(dir: string, record: OpenRecord): void {
  if (record.dir === dir && !record.isHeld()) assertSound(dir);
}

function verifyOnly(batch: Batch, view: VerifyView, isDeep: boolean): Promise<Verified> {
  return batch.read((book) =>
    book.withBucket((bucket) => lookAtAll(inspectorOf(book.dir, bucket, isDeep), book.db, view, undefined)),
  );
}

/** If one picture is not good, the batch stays where it is. */
async function moveAll(batch: Batch, view: VerifyView, { output }: ReportKeys): Promise<Verified> {
  const { movePictures } = await import('../batch/move.ts');
  return batch.upkeep(async (book) => {
    const [from, to] = [book.shownImages, shownImages(book.dir, output.pictures)];
    const check = (copy: Inspect): Promise<Verified> => lookAtAll(copy, book.db, view, undefined);
    const { beside = [] } = maintenanceOptions(output);
    const choice = { target: output.pictures, endings: sidecarEndings(beside) };
    const verified = await movePictures(book, choice, check);
    if (verified.good === verified.checked) view.onMoved(from, to);
    return verified;
  });
}

/** Repairs the checkpoint first: without it the pictures are unknown. */
async function verifyAndRepair(
  batch: Batch,
  view: VerifyView,
  isDeep: boolean,
  { output }: ReportKeys,
): Promise<{ verified: Verified; runArguments: string }> {
  const work = (book: Book): Promise<Verified> =>
    book.withImages(maintenanceOptions(output), async (images, bucket) => {
      if (bucket === undefined) assertFolder(book.dir);
      else await assertMarked(bucket);
      const repair = pictureRepair(book.db);
      await finishMoves(images, repair);
      const { setAside } = images;
      const inspect = inspectorOf(book.dir, bucket, isDeep);
      return lookAtAll(inspect, book.db, view, { setAside, putBack: repair.putBack });
    });
  return batch.upkeep(
    async (book) => ({
      verified: await work(book),
      runArguments: runArguments(batch.arguments, readBatch(book.db)?.lists),
    }),
    async () => {
      const repaired = await repairCheckpoint(batch.dir);
      if (repaired !== undefined) view.onRepaired(repaired);
    },
  );
}

/** A disk that is not mounted would have every picture rendered and paid again. */
function assertFolder(dir: string): void {
  const images = imagesOf(dir);
  if (existsSync(images)) return;
  const text =
    'there is no such folder; if it is on a disk of its own, mount it. If the pictures are really gone, create an empty folder here and repair again: every scene is then rendered and paid for again';
  throw new ConfigError([{ where: shownPath(images), text }]);
}

/** As above, of a bucket. */
async function assertMarked(bucket: Bucket): Promise<void> {
  if (await isMarked(bucket)) return;
  const text =
    'no pictures of any batch are there: is this the right store (AWS_ENDPOINT_URL_S3)? Nothing was changed. If the pictures are really gone, put an empty object batch.json there and repair again: every scene is then rendered and paid for again';
  throw new ConfigError([{ where: bucket.name, text }]);
}

type Inspect = VerifyPorts['inspect'];

function inspectorOf(dir: string, bucket: Bucket | undefined, isDeep: boolean): Inspect {
  return bucket === undefined ? savedFiles(imagesOf(dir)).inspect : bucketInspector(bucket, isDeep);
}

function lookAtAll(
  inspect: Inspect,
  db: Database,
  view: VerifyView,
  repair: VerifyPorts['repair'],
): Promise<Verified> {
  const total = countSaved(db);
  const ports: VerifyPorts = {
    jobs: () => readSavedJobs(db),
    readAgain: recordedReader(db),
    inspect,
    repair,
    onBad: (bad) => view.onBad(bad),
    onProgress: (checked) => view.onProgress(checked, total),
  };
  // A bucket is waited for more than worked with.
  return verifyBatch(ports, bucketOf(db) === undefined ? availableParallelism() : 32);
}

function imagesOf(dir: string): string {
  return join(dir, 'images');
}

interface VerifyView {
  onRepaired(repaired: RepairedCheckpoint): void;
  /** All pictures are in `to` from then on, and still in `from`. */
  onMoved(from: string, to: string): void;
  /** There is nothing to move. */
  onInPlace(): void;
  /** From then on it is in `to`; what it was before is kept. */
  onCheckpointMoved(moved: MovedCheckpoint): void;
  onBad(bad: BadPicture): void;
  onProgress(checked: number, total: number): void;
  end(verified: Verified, exitCode: number): void;
}

interface VerifyViewOptions {
  json: boolean;
  isRepair: boolean;
  /** What follows `nightrender verify` for this batch; where it is repaired, `nightrender run`. */
  file: () => string;
  /** Monotonic ms. */
  elapsed: () => number;
}

type PictureView = Pick<VerifyView, 'onBad' | 'onProgress' | 'end'>;

export function createVerifyView(options: VerifyViewOptions): VerifyView {
  return {
    ...(options.json ? jsonView() : plainView(options)),
    onRepaired: (repaired) => {
      if (options.json) writeJsonLine('checkpoint-repaired', { ...repaired });
      else writeWrapped(describeRepaired(repaired));
    },
    onMoved: (from, to) => {
      const text = `The pictures are in ${to} from now on. Those in ${from} are still there; delete them when you like.`;
      if (options.json) writeJsonLine('pictures-moved', { from, to });
      else writeWrapped(text);
    },
    onInPlace: () => {
      const text = `Pictures and checkpoint are there already, and the report is written anew. To move them, change output.pictures or checkpoint in the file first.`;
      if (!options.json) writeWrapped(text);
    },
    onCheckpointMoved: ({ from, to, counts: { scenes, attempts, pictures } }) => {
      const what = `${plural(scenes, 'scene')}, ${plural(attempts, 'attempt')} and ${plural(pictures, 'picture')}`;
      const text = `The checkpoint is in ${to} from now on: ${what}. What it was before is kept in ${from}; no run goes on there, and it can be deleted.`;
      if (options.json) writeJsonLine('checkpoint-moved', { from, to, scenes, attempts, pictures });
      else writeWrapped(text);
    },
  };
}

function writeWrapped(text: string): void {
  for (const line of hanging('', text, outColumns(), 2)) writeOut(line);
}

function describeRepaired({ lost, keptAs }: RepairedCheckpoint): string {
  const what =
    keptAs === null
      ? `The checkpoint ${lost === 0 ? 'differs from what the last run left, but is sound' : 'is older than what the last run left'}: accepted as it is.`
      : `The damaged checkpoint is repaired; the damaged file is kept as ${keptAs}.`;
  if (lost === 0) return `${what} No submission is lost.`;
  return `${what} ${plural(lost, 'submission is', 'submissions are')} lost and counted as unanswered.`;
}

/** Every bad picture as soon as it is found. */
function jsonView(): PictureView {
  return {
    onBad: ({ sceneId, sceneState, file, verdict, keptAs }) => {
      const { kind, ...problem } = verdict;
      const kept = keptAs === undefined ? {} : { keptAs };
      const facts = { scene: sceneId, state: sceneState, file, ...problem, ...kept };
      writeJsonLine(`picture-${kind}`, facts);
    },
    onProgress: () => undefined,
    end: (verified, exitCode) => writeJsonLine('verified', { ...verified, exitCode }),
  };
}

const progressEveryMs = 500;

function plainView({ isRepair, file, elapsed }: VerifyViewOptions): PictureView {
  const shown: BadPicture[] = [];
  let shownElapsed = elapsed();
  return {
    onBad: (bad) => {
      if (shown.length < screenful) shown.push(bad);
    },
    onProgress: (checked, total) => {
      if (elapsed() - shownElapsed < progressEveryMs) return;
      shownElapsed = elapsed();
      writeStatus(`${checked.toLocaleString('en')} of ${plural(total, 'picture')} checked`);
    },
    end: (verified) => {
      clearStatus();
      for (const line of describe(verified, shown, isRepair, file())) writeOut(line);
    },
  };
}

function describe(verified: Verified, shown: BadPicture[], isRepair: boolean, file: string): string[] {
  const { checked, good, missing, damaged } = verified;
  const rows: [string, number][] = [
    ['checked', checked],
    ['good', good],
    ['missing', missing],
    ['damaged', damaged],
  ];
  const width = checked.toLocaleString('en').length;
  const more = missing + damaged - shown.length;
  return [
    ...rows.map(([name, count]) => `${name.padEnd(10)}${count.toLocaleString('en').padStart(width)}`),
    ...shown.flatMap((bad) => hanging('', describeBad(bad), outColumns(), 2)),
    ...(more > 0 ? [`  and ${more.toLocaleString('en')} more; --json names all of them`] : []),
    ...(missing + damaged > 0 ? whatNext(verified, isRepair, file) : []),
  ];
}

function describeBad({ file, sceneId, sceneState, verdict, keptAs }: BadPicture): string {
  const what = verdict.kind === 'missing' ? 'missing' : `damaged: ${verdict.problem}`;
  const gone = sceneState === 'withdrawn' ? ', no longer in the manifest' : '';
  return `${file} (scene ${sceneId}${gone}): ${what}${keptAs === undefined ? '' : `; kept as ${keptAs}`}`;
}

function whatNext({ withdrawn, putBack }: Verified, isRepair: boolean, file: string): string[] {
  if (!isRepair) {
    return [`\`nightrender verify ${file} --repair\` puts these scenes back for rendering.`];
  }
  const back = `${plural(putBack, 'scene waits', 'scenes wait')} to be rendered again, each billed as a new job: \`nightrender run ${file}\`.`;
  const gone = `${plural(withdrawn, 'picture')} of withdrawn scenes taken off the record; rendered again only if their rows return.`;
  return [...(putBack > 0 ? [back] : []), ...(withdrawn > 0 ? [gone] : [])];
}
