/** Reads a batch for a program. Nothing stays open between two calls. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Batch } from '../batch/batch.ts';
import { followStatus, type BatchStatus } from '../batch/book.ts';
import { readBatch, rowCondition, rowValues } from '../runner/checkpoint/batch-identity.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import { resultJson, type ResultRow } from '../runner/report/result-columns.ts';
import { batchForCaller, unreadable, wrongArguments } from './caller-arguments.ts';
import type { BatchReading, ReadOptions, RowsChosen, Unreadable } from './library.ts';

type Reading = Promise<BatchReading | Unreadable>;

export async function readForCaller(file: string, options: ReadOptions): Reading {
  const wrong = wrongArguments('readBatch', options, { file });
  if (wrong !== undefined) return wrong;
  const { output, env } = options;
  // The batch is opened anew by each call, because the file may have been edited.
  const open = (): Batch => batchForCaller(file, { output }, env);
  const readUntil = async (signal: AbortSignal): Reading => {
    const batch = open();
    try {
      return await batch.read(async (book) => {
        let seen: BatchStatus | undefined;
        for await (seen of followStatus(book, signal));
        if (seen === undefined) throw new Error('a batch was followed, and its status never read');
        return readingOf(seen);
      });
    } catch (thrown) {
      return unreadable(thrown, batch);
    }
  };
  const readingOf = ({ dir, isRunning, summary }: BatchStatus): BatchReading => ({
    kind: 'batch',
    dir,
    isRunning,
    ...summary,
    rows: (chosen = {}) => {
      const batch = open();
      return rowsOrKind(wrongArguments('rows', chosen), readResults(batch, chosen), (thrown) =>
        unreadable(thrown, batch),
      );
    },
    wait: async (waiting = {}) => {
      const refused = wrongArguments('wait', waiting);
      if (refused !== undefined) return refused;
      const { signal = new AbortController().signal } = waiting;
      const reading = await readUntil(signal);
      signal.throwIfAborted();
      return reading;
    },
  });
  return readUntil(AbortSignal.abort());
}

async function* rowsOrKind(
  wrong: Unreadable | undefined,
  rows: AsyncGenerator<ResultRow, void, undefined>,
  refusalOf: (thrown: unknown) => Unreadable,
): AsyncGenerator<ResultRow, void, undefined> {
  try {
    if (wrong !== undefined) throw new TypeError(wrong.text);
    yield* rows;
  } catch (error) {
    const { text, ...trouble } = wrong ?? refusalOf(error);
    throw Object.assign(new Error(text, { cause: error }), { text, ...trouble });
  }
}

/** Rows read before other tasks of the process get their turn. */
const rowsAtOnce = 200;

/** Yields rows one after the other. The batch stays open as long as the caller reads. */
async function* readResults(batch: Batch, chosen: RowsChosen): AsyncGenerator<ResultRow, void, undefined> {
  const { states, where } = chosen;
  const { book, close } = await batch.openToRead();
  try {
    const holds =
      where === undefined ? () => true : rowCondition(rowValues(readBatch(book.db)), where, 'where');
    let count = 0;
    for (const row of readRecords(book.db, states && { states })) {
      if (holds(row) === true) yield resultJson(row);
      count += 1;
      if (count % rowsAtOnce === 0) await nextTurn();
    }
  } finally {
    await close();
  }
}
