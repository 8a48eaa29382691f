/** Reads a batch, puts scenes back, checks pictures and exports them for a program. */
import { resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Batch } from '../batch/batch.ts';
import { type BatchStatus, followStatus } from '../batch/book.ts';
import { copyNamed, exportableKind, exportDataset, type ExportListener } from '../batch/export-dataset.ts';
import { retryScenes } from '../batch/retry-scenes.ts';
import { type RepairListener, repairPictures, verifyPictures } from '../batch/verify-pictures.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { readBatch, rowCondition, rowValues } from '../runner/checkpoint/batch-identity.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import type { BadPicture, Verified } from '../runner/core/scene-record.ts';
import { pathInOutput, resultJson, type ResultRow } from '../runner/report/result-columns.ts';
import {
  batchForCaller,
  interrupted,
  refused,
  unreadable,
  wrongArguments,
  wrongUse,
} from './caller-arguments.ts';
import type {
  BatchReading,
  ExportedBatch,
  ExportRequest,
  ReadOptions,
  Refused,
  RetriedScenes,
  RetryRequest,
  RowsChosen,
  Unreadable,
  VerifiedBatch,
  VerifyRequest,
} from './library.ts';

export async function retryForCaller(file: string, options: RetryRequest): Promise<RetriedScenes | Refused> {
  const wrong = wrongArguments('retryScenes', options, { file });
  if (wrong !== undefined) return wrong;
  const problems = contradictionsIn(options);
  if (problems.length > 0) return wrongUse('retryScenes', problems);
  const { output, env, kinds, ids, where } = options;
  const { again = false, newSeed = false, lackingFiles = false, giveUp = false, elsewhere = false } = options;
  const isChosen = (kinds ?? ids ?? where) !== undefined || lackingFiles || elsewhere;
  const choices = {
    kinds: isChosen ? (kinds ?? []) : ('every' as const),
    ids: placesOf(ids),
    where,
    isMarked: false,
    isLackingFiles: lackingFiles,
    isElsewhere: elsewhere,
    isGivingUp: giveUp,
    isAgain: again,
    hasNewSeed: newSeed,
    isPaidAgain: options.confirm !== undefined,
  };
  const batch = batchForCaller(file, { output }, env);
  const [scenes, notes]: [RetriedScenes['scenes'], string[]] = [[], []];
  const listener = {
    onScene: (scene: RetriedScenes['scenes'][number]) => void scenes.push(scene),
    onNote: (text: string) => void notes.push(text),
  };
  try {
    const { givenUp, kept } = await retryScenes(batch, choices, listener);
    return { kind: 'retried', scenes, givenUp, kept, notes };
  } catch (thrown) {
    return refused(thrown, batch);
  }
}

function contradictionsIn(options: RetryRequest): Problem[] {
  const { ids, where, again, newSeed, giveUp } = options;
  const problems: Problem[] = [];
  const isNamed = ids !== undefined || where !== undefined;
  if (giveUp === true && !isNamed) problems.push({ where: 'giveUp', text: 'requires ids or where' });
  if (again === true && !isNamed) problems.push({ where: 'again', text: 'requires ids or where' });
  if (newSeed === true && again !== true) problems.push({ where: 'newSeed', text: 'requires again' });
  const other = (['kinds', 'ids', 'lackingFiles', 'elsewhere'] as const).find(
    (name) => options[name] !== undefined && options[name] !== false,
  );
  if (where !== undefined && other !== undefined)
    problems.push({ where: 'where', text: `must be alone, but ${other} is given as well` });
  return problems;
}

function placesOf(ids: string[] = []): Map<string, string> {
  return new Map(ids.map((id) => [id, 'ids']));
}

export async function verifyForCaller(
  file: string,
  options: VerifyRequest,
): Promise<VerifiedBatch | Refused> {
  const wrong = wrongArguments('verifyBatch', options, { file });
  if (wrong !== undefined) return wrong;
  const { output, env, signal, deep = false, repair = false, confirm } = options;
  if (repair && confirm === undefined) {
    const text =
      "is missing; repair puts scenes with missing or damaged files back, and the next run renders and pays for each again; expected 'paid again'";
    return wrongUse('verifyBatch', [{ where: 'confirm', text }]);
  }
  const batch = batchForCaller(file, { output }, env);
  const bad: VerifiedBatch['bad'] = [];
  let checkpoint: VerifiedBatch['checkpoint'];
  const listener: RepairListener = {
    signal,
    onBad: (each) => void bad.push(badOf(each)),
    onProgress: () => undefined,
    onRepaired: (repaired) => (checkpoint = repaired),
  };
  const isStopped = (): boolean => signal?.aborted === true;
  if (isStopped()) return interrupted('Nothing was checked.');
  try {
    const verified = repair
      ? (await repairPictures(batch, deep, listener)).verified
      : await verifyPictures(batch, deep, listener);
    if (isStopped()) return interrupted(interruptedText(verified, repair));
    return { kind: 'verified', ...verified, bad, ...(checkpoint !== undefined && { checkpoint }) };
  } catch (thrown) {
    return refused(thrown, batch);
  }
}

function badOf({ sceneId, file, verdict, keptAs }: BadPicture): VerifiedBatch['bad'][number] {
  const problem = verdict.kind === 'missing' ? 'it is missing' : verdict.problem;
  return {
    kind: verdict.kind,
    scene: sceneId,
    file: pathInOutput({ file }),
    problem,
    ...(keptAs !== undefined && { keptAs: pathInOutput({ file: keptAs }) }),
  };
}

function interruptedText({ checked, missing, damaged, putBack }: Verified, isRepair: boolean): string {
  const found = `${missing + damaged} of ${checked} files that were checked are missing or damaged`;
  return isRepair ? `${found}; ${putBack} scenes wait to be rendered again.` : `${found}.`;
}

export async function exportForCaller(
  file: string,
  options: ExportRequest,
): Promise<ExportedBatch | Refused> {
  const wrong = wrongArguments('exportBatch', options, { file });
  if (wrong !== undefined) return wrong;
  const { output, env, signal, to, dir, where, ids, shard = 1_000, caption, name, copy } = options;
  const { embed: isEmbedded = false, link: isLinked = false, withMetadata: isWithMetadata = false } = options;
  const batch = batchForCaller(file, { output }, env);
  const [bad, notes]: [ExportedBatch['bad'], string[]] = [[], []];
  const listener: ExportListener = {
    onBad: (each) => void bad.push({ ...each, file: pathInOutput(each) }),
    onDone: () => undefined,
    onNote: (text) => void notes.push(text),
  };
  const folder = resolve(dir);
  try {
    signal?.throwIfAborted();
    const exported = await batch.read((book) => {
      exportableKind(to, { caption, name, copy, isEmbedded, isLinked, isWithMetadata });
      const choices = {
        to,
        dir: folder,
        shard,
        caption,
        name,
        isEmbedded,
        copy: copy === undefined ? undefined : copyNamed(copy, batch),
        isLinked,
        isWithMetadata,
        where,
        ids: ids && placesOf(ids),
      };
      return exportDataset(book, choices, listener, signal);
    });
    const { pictures, written, bytes, missing } = exported;
    return { kind: 'exported', dir: folder, pictures, written, bytes, bad, missing, notes };
  } catch (thrown) {
    if (signal?.aborted === true && thrown === signal.reason) return interrupted('The same call continues.');
    return refused(thrown, batch);
  }
}

type Reading = Promise<BatchReading | Unreadable>;

/** Nothing stays open between two calls. */
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
      const wrongWait = wrongArguments('wait', waiting);
      if (wrongWait !== undefined) return wrongWait;
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
