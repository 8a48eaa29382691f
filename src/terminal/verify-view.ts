/** What the verification of a batch shows: how far it is, which pictures are bad, and a table at the end. */
import type { BadPicture, Verified } from '../runner/core/verification.ts';
import { clearStatus, outColumns, writeOut, writeStatus } from './console.ts';
import { hanging } from './hanging.ts';
import { writeJsonLine } from './json-lines.ts';
import { screenful, plural } from './words.ts';

export interface VerifyView {
  onRepaired(repaired: Repaired): void;
  hasRepaired(): boolean;
  /** All pictures are in `to` from then on, and still in `from`. */
  onMoved(from: string, to: string): void;
  /** There is nothing to move. */
  onInPlace(): void;
  /** From then on it is in `to`; what it was before is kept. */
  onCheckpointMoved(moved: CheckpointMove): void;
  onBad(bad: BadPicture): void;
  onProgress(checked: number, total: number): void;
  end(verified: Verified, exitCode: number): void;
}

export interface VerifyViewOptions {
  json: boolean;
  isRepair: boolean;
  /** What follows `nightrender verify` for this batch; where it is repaired, `nightrender run`. */
  file: () => string;
  /** Monotonic ms. */
  elapsed: () => number;
}

/** Of the checkpoint. */
interface Repaired {
  /** Submissions whose record is lost. */
  lost: number;
  /** Where what was damaged is; null where nothing was. */
  keptAs: string | null;
}

interface CheckpointMove {
  from: string;
  to: string;
  counts: { scenes: number; attempts: number; pictures: number };
}

type PictureView = Omit<
  VerifyView,
  'onRepaired' | 'hasRepaired' | 'onMoved' | 'onInPlace' | 'onCheckpointMoved'
>;

export function createVerifyView(options: VerifyViewOptions): VerifyView {
  let hasRepaired = false;
  return {
    ...(options.json ? jsonView() : plainView(options)),
    onRepaired: (repaired) => {
      hasRepaired = true;
      if (options.json) writeJsonLine('checkpoint-repaired', { ...repaired });
      else writeWrapped(describeRepaired(repaired));
    },
    hasRepaired: () => hasRepaired,
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

function describeRepaired({ lost, keptAs }: Repaired): string {
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
    onBad: ({ picture, verdict, keptAs }) => {
      const { sceneId, sceneState, file } = picture;
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

function describeBad({ picture, verdict, keptAs }: BadPicture): string {
  const { file, sceneId, sceneState } = picture;
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
