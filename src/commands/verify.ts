/** `nightrender verify`: whether every saved picture is still there and whole; `--repair` puts back what is not. */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { isBatchHeld } from '../runner/checkpoint/batch-lock.ts';
import { assertSound } from '../runner/checkpoint/damaged-rows.ts';
import {
  pictureRepair,
  type PictureRepair,
  countPictures,
  readSavedJobs,
  recordedReader,
} from '../runner/checkpoint/recorded-pictures.ts';
import { repairCheckpoint } from '../runner/checkpoint/repair-checkpoint.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readReportSettings, type ReportSettings } from '../runner/config/read-settings.ts';
import { endings } from '../runner/core/ending.ts';
import type { Verified } from '../runner/core/verification.ts';
import { createImageStore, type PreparedImageStore } from '../runner/images/image-store.ts';
import { savedFiles } from '../runner/images/saved-files.ts';
import { verifyBatch, type VerifyPorts } from '../runner/pipeline/verify-batch.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { createVerifyView, type VerifyView } from '../terminal/verify-view.ts';
import { lookAtBatch, maintainBatch, recordedRun } from './existing-batch.ts';
import { outputFiles } from './output-files.ts';
import { shownPath } from './shown-path.ts';
import { systemClock } from './system-clock.ts';
import type { LoadedCommand } from './command.ts';
import { onBatch } from './on-batch.ts';
import { common } from './exit-codes.ts';
import { fileIn } from './option-values.ts';

export const verifyCommand: LoadedCommand = {
  purpose: `Checks every saved picture: its file exists, matches the recorded size and sha256, and decodes to the last pixel. Read-only, also during a run. With --repair, which needs the batch to be idle, a damaged checkpoint is repaired first and kept as checkpoint.sqlite.damaged. Then scenes with a missing or damaged picture are put back; damaged files are kept as <name>.damaged, whole ones of the same job as <name>.former. The next run renders the scenes again.`,
  shared: ['output', 'json'],
  options: { repair: { type: 'boolean', describe: 'put scenes with missing or damaged pictures back' } },
  examples: [
    ['$0 verify pipeline.yaml', 'after a disk was full, moved or repaired'],
    ['$0 verify pipeline.yaml --repair', 'put bad ones back; then nightrender run renders them'],
    ['$0 verify pipeline.yaml --json', 'for a script: a line for each bad picture'],
  ],
  exits: {
    ...common,
    complete: 'every saved picture is there and whole',
    incomplete:
      'pictures are missing or damaged, also if --repair has put them back or repaired the checkpoint',
    'already-running': 'a run holds this batch (--repair)',
  },
  work: (argv) => verify(fileIn(argv), argv),
};

/** Resolves to the exit code. */
export function verify(file: string, argv: Record<string, unknown>): Promise<number> {
  return onBatch(file, argv, async ({ dir, json, others, overrides }) => {
    const isRepair = argv['repair'] === true;
    const view = createVerifyView({
      json,
      isRepair,
      file: () => (isRepair ? recordedRun(others, dir) : others),
      elapsed: () => systemClock.elapsed(),
    });
    if (!isRepair && !isBatchHeld(dir)) assertSound(dir);
    const verified = isRepair
      ? await verifyAndRepair(dir, view, readReportSettings(file, overrides, process.env))
      : await lookAtBatch(dir, (db) => lookAtAll(dir, db, view, undefined));
    const isGood = verified.good === verified.checked && !view.hasRepaired();
    const ending = isGood ? 'complete' : 'incomplete';
    view.end(verified, endings[ending].exitCode);
    return endings[ending].exitCode;
  });
}

/** The checkpoint first: without it the pictures are unknown. */
async function verifyAndRepair(dir: string, view: VerifyView, { output }: ReportSettings): Promise<Verified> {
  const work = async (db: Database): Promise<Verified> => {
    assertFolder(dir);
    const repair = pictureRepair(db);
    const images = imagesForMaintenance(dir, output);
    await finishMoves(images, repair);
    return lookAtAll(dir, db, view, { setAside: images.setAside, putBack: repair.putBack });
  };
  return maintainBatch(dir, work, async () => {
    const repaired = await repairCheckpoint(dir);
    if (repaired !== undefined) view.onRepaired(repaired);
  });
}

/** A disk that is not mounted would have every picture rendered and paid again. */
function assertFolder(dir: string): void {
  const images = imagesOf(dir);
  if (existsSync(images)) return;
  const text =
    'there is no such folder; if it is on a disk of its own, mount it. If the pictures are really gone, create an empty folder here and repair again: every scene is then rendered and paid for again';
  throw new ConfigError([{ where: shownPath(images), text }]);
}

/** Nothing is made here: what is beside a picture goes along. */
export function imagesForMaintenance(dir: string, output: ReportSettings['output']): PreparedImageStore {
  return createImageStore(
    imagesOf(dir),
    outputFiles(output, () => undefined),
  );
}

/** As the next run would begin: after that, every picture has the name that is on record. */
export async function finishMoves(images: PreparedImageStore, repair: PictureRepair): Promise<void> {
  for (const move of repair.pendingMoves()) {
    await images.move(move.from, move.to);
    await repair.recordMoved(move);
  }
}

function lookAtAll(
  dir: string,
  db: Database,
  view: VerifyView,
  repair: VerifyPorts['repair'],
): Promise<Verified> {
  const total = countPictures(db);
  const ports: VerifyPorts = {
    jobs: () => readSavedJobs(db),
    readAgain: recordedReader(db),
    inspect: savedFiles(imagesOf(dir)).inspect,
    repair,
    onBad: (bad) => view.onBad(bad),
    onProgress: (checked) => view.onProgress(checked, total),
  };
  return verifyBatch(ports, availableParallelism());
}

function imagesOf(dir: string): string {
  return join(dir, 'images');
}
