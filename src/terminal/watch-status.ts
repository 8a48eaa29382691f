/** A batch that is watched: one calm block on a terminal, lines now and then elsewhere, JSON where asked for. */
import { createBlock } from './block.ts';
import { canRedraw, outColumns, writeOut, writeOutPart } from './console.ts';
import {
  describePace,
  otherStates,
  savedOf,
  statusFacts,
  statusLines,
  type BatchStatus,
} from './print-status.ts';
import { jsonLine } from './json-lines.ts';
import { logPauseMs } from './repeat-limit.ts';
import { formatInstant } from './words.ts';

export interface StatusWatch {
  /** Shows a status of the batch, or waits for a change; false where the reader has gone. */
  show(status: BatchStatus): Promise<boolean>;
  /** Shows the last one in full. */
  end(status: BatchStatus): Promise<void>;
}

/** `elapsed`: monotonic ms; `now`: epoch ms. */
export function watchStatus(json: boolean, elapsed: () => number, now: () => number): StatusWatch {
  if (json) return jsonWatch(now);
  return canRedraw(process.stdout) ? blockWatch() : plainWatch(elapsed, now);
}

function blockWatch(): StatusWatch {
  const block = createBlock(process.stdout);
  return {
    show: async (status) => {
      block.draw(watchedLines(status, outColumns() - 1));
      return true;
    },
    end: async (status) => {
      block.clear();
      writeOut(statusLines(status, outColumns()).join('\n'));
    },
  };
}

const maxCells = 40;

/** The bar stands above the numbers, as wide as there is room. */
function watchedLines(status: BatchStatus, columns: number): string[] {
  const { saved, failed, waiting, active } = status.summary.scenes;
  const total = saved + failed + waiting + active;
  const cells = Math.max(0, Math.min(maxCells, columns - 10));
  const full = total === 0 ? 0 : Math.floor((cells * (saved + failed)) / total);
  return [`${' '.repeat(10)}${'█'.repeat(full)}${'░'.repeat(cells - full)}`, ...statusLines(status, columns)];
}

function jsonWatch(now: () => number): StatusWatch {
  const show = onlyNews((status) =>
    writeOutPart(`${JSON.stringify(jsonLine('status', statusFacts(status), now()))}\n`),
  );
  return { show, end: async (status) => void (await show(status)) };
}

/** Lines as often as a run's own log has them. */
function plainWatch(elapsed: () => number, now: () => number): StatusWatch {
  const startedElapsed = elapsed();
  let nextElapsed = startedElapsed;
  const emit = onlyNews((status) => writeOutPart(`${formatInstant(now())}  ${plainLine(status)}\n`));
  return {
    show: async (status) => {
      if (elapsed() < nextElapsed) return true;
      nextElapsed = elapsed() + logPauseMs(elapsed() - startedElapsed);
      return emit(status);
    },
    end: async (status) => void (await writeOutPart(`${statusLines(status, outColumns()).join('\n')}\n`)),
  };
}

function plainLine({ summary, pace }: BatchStatus): string {
  return [savedOf(summary.scenes), otherStates(summary.scenes), describePace(pace)]
    .filter((part) => part !== '')
    .join(', ');
}

/** What was shown already is not shown again; a pace changes by itself. */
function onlyNews(
  show: (status: BatchStatus) => Promise<boolean>,
): (status: BatchStatus) => Promise<boolean> {
  let last: string | undefined;
  return async (status) => {
    const news = JSON.stringify(statusFacts({ ...status, pace: undefined }));
    if (news === last) return true;
    last = news;
    return show(status);
  };
}
