/** A batch that another program reads; nothing stays open between its calls. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { asDamage } from '../runner/checkpoint/damage.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { readRows } from '../runner/checkpoint/read-rows.ts';
import { pipelineIn } from '../runner/config/pipeline-in.ts';
import { readCheckpointAddress, readOutputDir } from '../runner/config/read-output-dir.ts';
import { resultJson, type ResultRow } from '../runner/report/result-json.ts';
import { openRecord } from './batch-record.ts';
import { followStatus, type BatchStatus } from './batch-status.ts';
import { wrongArguments } from './caller-arguments.ts';
import { lookAtBatch, NoBatch, noBatch } from './existing-batch.ts';
import type { BatchReading, ReadOptions, RowsChosen, Unreadable } from './library.ts';
import { onRecord, type RecordPlace } from './on-batch.ts';
import { namedRefusal } from './refusal.ts';
import { rowCondition, rowValues } from '../runner/checkpoint/row-values.ts';
import { overridesOf } from './run-options.ts';
import { commandArguments } from './shown-path.ts';

type Reading = Promise<BatchReading | Unreadable>;

export async function readForCaller(file: string, options: ReadOptions): Reading {
  const wrong = wrongArguments('readBatch', options, { file });
  if (wrong !== undefined) return wrong;
  const { output, env = process.env } = options;
  const pipeline = pipelineIn(file);
  const others = commandArguments(pipeline, output);
  const place = { file: pipeline, overrides: overridesOf({ output }, env), env };
  const readUntil = (signal: AbortSignal): Reading =>
    onRecord<BatchReading | Unreadable>(
      place,
      (dir, record) =>
        lookAtBatch(record.dir, async (db) => {
          let seen: BatchStatus | undefined;
          for await (seen of followStatus(dir, record, db, signal));
          if (seen === undefined) throw new Error('a batch was followed, and its status never read');
          return readingOf(seen);
        }),
      (thrown, dir) => unreadable(thrown, dir, others),
    );
  const readingOf = ({ dir, isRunning, summary }: BatchStatus): BatchReading => ({
    kind: 'batch',
    dir,
    isRunning,
    ...summary,
    rows: (chosen = {}) =>
      rowsOrKind(wrongArguments('rows', chosen), readResults(place, chosen), (thrown) =>
        unreadable(thrown, dir, others),
      ),
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

/** Throws what is unexpected. */
function unreadable(thrown: unknown, dir: string | undefined, others: string): Unreadable {
  const refusal = namedRefusal(thrown, dir, others, true);
  if (refusal === undefined) throw thrown;
  const { text, problems } = refusal;
  return { kind: kindOf(thrown, refusal.ending === 'output-unwritable'), text, problems };
}

function kindOf(thrown: unknown, isUnreached: boolean): Unreadable['kind'] {
  if (thrown instanceof NoBatch) return 'no-batch';
  if (isUnreached) return 'output-unwritable';
  return asDamage(thrown) === undefined ? 'wrong-use' : 'damaged';
}

async function* rowsOrKind(
  wrong: Unreadable | undefined,
  rows: AsyncGenerator<ResultRow, void, undefined>,
  told: (thrown: unknown) => Unreadable,
): AsyncGenerator<ResultRow, void, undefined> {
  try {
    if (wrong !== undefined) throw new TypeError(wrong.text);
    yield* rows;
  } catch (error) {
    const { text, ...trouble } = wrong ?? told(error);
    throw Object.assign(new Error(text, { cause: error }), { text, ...trouble });
  }
}

/** Between which others have their turn. */
const rowsAtOnce = 200;

async function* readResults(
  { file, overrides, env }: RecordPlace,
  chosen: RowsChosen,
): AsyncGenerator<ResultRow, void, undefined> {
  const { states, where } = chosen;
  const dir = readOutputDir(file, overrides, env);
  const record = await openRecord(dir, readCheckpointAddress(file, overrides, env));
  let db: ReturnType<typeof openCheckpointForReading>;
  try {
    db = openCheckpointForReading(record.dir);
    if (db === undefined) throw noBatch(dir);
    const holds = where === undefined ? () => true : rowCondition(rowValues(readBatch(db)), where, 'where');
    let count = 0;
    for (const row of readRows(db, states && { states })) {
      if (holds(row) === true) yield resultJson(row);
      count += 1;
      if (count % rowsAtOnce === 0) await nextTurn();
    }
  } finally {
    db?.close();
    await record.close();
  }
}
