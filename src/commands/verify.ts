/** `nightrender verify`: checks that every saved picture is there and intact; `--repair` puts back the others. */
import type { Batch } from '../batch/batch.ts';
import {
  movePlaces,
  repairPictures,
  verifyPictures,
  type MoveListener,
  type RepairListener,
} from '../batch/verify-pictures.ts';
import { plural } from '../lib/text/format.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { RepairedCheckpoint } from '../runner/checkpoint/repair-checkpoint.ts';
import { endings } from '../runner/core/ending.ts';
import type { BadPicture, Verified } from '../runner/core/scene-record.ts';
import { clearStatus, outColumns, progressLine, writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { wrapIndented } from '../terminal/fit-text.ts';
import { screenful } from '../terminal/words.ts';
import { commonExits, type LoadedCommand } from './command.ts';
import { withSignals } from './signals.ts';
import { onBatch, writeWarning } from './reply.ts';
import { readReportKeys } from '../runner/config/schema-parts.ts';
import { type ReportListener, type WrittenReport, rewriteReport } from '../batch/result-files.ts';
import type { RenamedPictures } from '../batch/rename-pictures.ts';

export const verifyCommand: LoadedCommand = {
  purpose: `Checks every saved file: it exists, matches the recorded size and sha256, and is complete; a picture decodes to the last pixel. Read-only, also during a run. With --rename, files get the names that output.name gives now; the next start completes an interrupted renaming. With --repair, which needs the batch to be idle, a damaged checkpoint is repaired first and kept as checkpoint.sqlite.damaged. Then scenes with a missing or damaged file are put back; in a folder, damaged files are kept as <name>.damaged, whole ones of the same job as <name>.former. The next run renders the scenes again.`,
  shared: ['output', 'json'],
  options: {
    repair: { type: 'boolean', describe: 'put scenes with missing or damaged files back' },
    deep: {
      type: 'boolean',
      describe: 'pictures in a bucket: read and decode each, rather than trust the checksums of the store',
    },
    move: {
      type: 'boolean',
      describe:
        'move pictures and checkpoint to the new output.pictures and checkpoint, checked; continues where it stopped',
    },
    rename: {
      type: 'boolean',
      describe: 'rename saved pictures and clips, and the files beside them, by the present output.name',
    },
  },
  examples: [
    ['$0 verify pipeline.yaml', 'after a disk was full, moved or repaired'],
    ['$0 verify pipeline.yaml --repair', 'put bad ones back; then nightrender run renders them'],
    ['$0 verify pipeline.yaml --json', 'for a script: a line for each bad file'],
  ],
  exits: {
    ...commonExits,
    complete: 'every saved file is good, or --repair has put bad ones back',
    incomplete: 'saved files are missing or damaged',
    'already-running': 'a run holds this batch (--repair)',
  },
  work: (argv) => verify(argv),
};

/** Resolves to the exit code. */
export function verify(argv: Record<string, unknown>): Promise<number> {
  const [isRepair, isDeep, isMove] = [argv['repair'] === true, argv['deep'] === true, argv['move'] === true];
  const isRename = argv['rename'] === true;
  return onBatch(argv, async (batch, json) => {
    // Reading `dir` reports a wrong pipeline.yaml before a wrong option.
    void batch.dir;
    if (isMove && isRepair) throw new ConfigError([{ where: '--move', text: 'repair first, then move' }]);
    if (isRename && (isMove || isRepair))
      throw new ConfigError([
        { where: '--rename', text: 'give --repair, --move and --rename one after the other' },
      ]);
    const view = createVerifyView({ json, isRepair });
    if (isRename) {
      const { renamePictures } = await import('../batch/rename-pictures.ts');
      view.onRenamed(await renamePictures(batch, () => reportMoved(batch, view)));
      return endings.complete.exitCode;
    }
    if (isRepair) {
      const { verified, runArguments } = await repairPictures(batch, isDeep, view);
      // A repair puts back every bad picture, and throws if it cannot.
      return view.end(verified, 'complete', runArguments);
    }
    const verified = await (isMove ? movePlaces : verifyPictures)(batch, isDeep, view);
    if (verified === undefined) return endings.complete.exitCode;
    const isGood = verified.good === verified.checked;
    if (isMove && isGood) await reportMoved(batch, view);
    return view.end(verified, isGood ? 'complete' : 'incomplete', batch.arguments);
  });
}

/** Writes the report, because the old one links the pictures in their old place. */
function reportMoved(batch: Batch, view: ReportListener): Promise<WrittenReport> {
  const settings = readReportKeys(batch.parts);
  return batch.read((book) => withSignals((stop) => rewriteReport(book, settings, undefined, stop, view)));
}

interface VerifyView extends RepairListener, MoveListener, ReportListener {
  onRenamed: (renamed: RenamedPictures) => void;
  /** Returns the exit code. `others`: arguments of `nightrender verify`, or of `nightrender run` after a repair. */
  end: (verified: Verified, ending: 'complete' | 'incomplete', others: string) => number;
}

interface VerifyForm {
  json: boolean;
  isRepair: boolean;
}

export function createVerifyView({ json, isRepair }: VerifyForm): VerifyView {
  const progress = progressLine();
  const shown: BadPicture[] = [];
  return {
    onBad: (bad) => {
      if (json) writeBad(bad);
      else if (shown.length < screenful) shown.push(bad);
    },
    onProgress: (checked, total) => {
      if (!json) progress(() => `${checked.toLocaleString('en')} of ${plural(total, 'file')} checked`);
    },
    onRepaired: (repaired) => {
      if (json) writeJsonLine('checkpoint-repaired', { ...repaired });
      else writeWrapped(describeRepaired(repaired));
    },
    onMoved: (from, to) => {
      const text = `The files are in ${to} from now on. Those in ${from} are still there; delete them when you like.`;
      if (json) writeJsonLine('pictures-moved', { from, to });
      else writeWrapped(text);
    },
    onInPlace: () => {
      const text = `Files and checkpoint are already there; the report was written again. To move them, change output.pictures or checkpoint in the file first.`;
      if (!json) writeWrapped(text);
    },
    onCheckpointMoved: ({ from, to, counts: { scenes, attempts, pictures } }) => {
      const what = `${plural(scenes, 'scene')}, ${plural(attempts, 'attempt')} and ${plural(pictures, 'file')}`;
      const text = `The checkpoint is in ${to} from now on: ${what}. The old checkpoint is kept in ${from}; no run can use it there, and you may delete it.`;
      if (json) writeJsonLine('checkpoint-moved', { from, to, scenes, attempts, pictures });
      else writeWrapped(text);
    },
    onRenamed: ({ renamed, missing }) => {
      if (json) return writeJsonLine('pictures-renamed', { renamed, missing });
      clearStatus();
      const done = renamed === 0 ? 'No file needed another name.' : `${plural(renamed, 'file')} renamed.`;
      const kept = `${plural(missing, 'file')} kept ${missing === 1 ? 'its name' : 'their names'}: missing, or of a job with a missing file (\`nightrender verify\`).`;
      const text = missing === 0 ? done : `${done} ${kept}`;
      for (const line of wrapIndented('', text, outColumns(), 0)) writeOut(line);
    },
    onMade: (what, made) => {
      if (!json) progress(() => `${what} created for ${plural(made, 'file')}`);
    },
    onWarning: (text) => writeWarning(text, json),
    end: (verified, ending, others) => {
      const { exitCode } = endings[ending];
      if (json) writeJsonLine('verified', { ...verified, exitCode });
      else clearStatus();
      if (!json) for (const line of describe(verified, shown, isRepair, others)) writeOut(line);
      return exitCode;
    },
  };
}

function writeWrapped(text: string): void {
  for (const line of wrapIndented('', text, outColumns(), 2)) writeOut(line);
}

function describeRepaired({ lost, keptAs }: RepairedCheckpoint): string {
  const what =
    keptAs === null
      ? `The checkpoint ${lost === 0 ? 'differs from what the last run left, but is sound' : 'is older than what the last run left'}: accepted as it is.`
      : `The damaged checkpoint is repaired; the damaged file is kept as ${keptAs}.`;
  if (lost === 0) return `${what} No submission is lost.`;
  return `${what} ${plural(lost, 'submission is', 'submissions are')} lost and counted as unanswered.`;
}

function writeBad({ sceneId, sceneState, file, verdict, keptAs }: BadPicture): void {
  const { kind, ...problem } = verdict;
  const kept = keptAs === undefined ? {} : { keptAs };
  writeJsonLine(`picture-${kind}`, { scene: sceneId, state: sceneState, file, ...problem, ...kept });
}

function describe(verified: Verified, shown: BadPicture[], isRepair: boolean, others: string): string[] {
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
    ...shown.flatMap((bad) => wrapIndented('', describeBad(bad), outColumns(), 2)),
    ...(more > 0 ? [`  and ${more.toLocaleString('en')} more; --json names all of them`] : []),
    ...(missing + damaged > 0 ? whatNext(verified, isRepair, others) : []),
  ];
}

function describeBad({ sceneId, sceneState, file, verdict, keptAs }: BadPicture): string {
  const what = verdict.kind === 'missing' ? 'missing' : `damaged: ${verdict.problem}`;
  const gone = sceneState === 'withdrawn' ? ', no longer in the manifest' : '';
  return `${file} (scene ${sceneId}${gone}): ${what}${keptAs === undefined ? '' : `; kept as ${keptAs}`}`;
}

function whatNext({ withdrawn, putBack }: Verified, isRepair: boolean, others: string): string[] {
  if (!isRepair) {
    return [`\`nightrender verify ${others} --repair\` puts these scenes back for rendering.`];
  }
  const back = `${plural(putBack, 'scene waits', 'scenes wait')} to be rendered again, each billed as a new job: \`nightrender run ${others}\`.`;
  const gone = `${plural(withdrawn, 'picture')} of withdrawn scenes taken off the record; rendered again only if their rows return.`;
  return [...(putBack > 0 ? [back] : []), ...(withdrawn > 0 ? [gone] : [])];
}
