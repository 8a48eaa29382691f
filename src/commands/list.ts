/** `nightrender list`: lists the scenes of a batch, all or some, one a line. */
import { readBatch, resultColumns } from '../runner/checkpoint/batch-identity.ts';
import { readLabels, readOutputColumns } from '../runner/checkpoint/recorded-pictures.ts';
import { readRecords, type RecordChoice } from '../runner/checkpoint/scene-records.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { rowKinds, rowStates, type SceneRecord } from '../runner/core/scene-record.ts';
import { csvTable, resultLine } from '../runner/report/result-columns.ts';
import { writeError, writeOutPart, outColumns } from '../terminal/terminal.ts';
import type { Batch } from '../batch/batch.ts';
import type { Book } from '../batch/book.ts';
import { chosenRows } from '../batch/retry-scenes.ts';
import { commonExits, type LoadedCommand, textOption } from './command.ts';
import { rowOptions, rowsChosen } from './scene-options.ts';
import { onBatch } from './reply.ts';
import { oneLine } from '../lib/text/format.ts';
import { promptOf } from '../runner/core/naming.ts';
import { cutTo, truncate, escapeControls, padTo, widthOf } from '../terminal/fit-text.ts';

export const listCommand: LoadedCommand = {
  purpose: `Lists the scenes of the batch, one a line: id, state, attempts, prompt, and the file or the failure. Different options must all match; of an option given several times, any value. Read-only, also during a run.`,
  shared: ['output', 'json'],
  options: {
    state: {
      ...textOption,
      describe: 'scenes in this state: waiting, active, saved, failed, unneeded, withdrawn, invalid',
    },
    kind: { ...textOption, describe: 'scenes whose last failure is of this kind, such as job-failed' },
    search: {
      ...textOption,
      describe: 'scenes with this text in id, prompt, columns or failure',
    },
    ...rowOptions,
    limit: { requiresArg: true, describe: 'at most this many' },
    csv: {
      type: 'boolean',
      describe: 'the columns of results.csv with exact texts, usable as a manifest',
    },
  },
  examples: [
    ['$0 list pipeline.yaml --state failed', 'what failed, and why'],
    ['$0 list pipeline.yaml --kind job-failed --search harbour', 'both must hold'],
    ['$0 list pipeline.yaml --where "guidance >= 7" --csv > high.csv', 'a list of those, for another batch'],
    ['$0 list pipeline.yaml --state saved --json', 'for a script: a line each, as in results.jsonl'],
    ['$0 list pipeline.yaml --state failed --csv > failed.csv', 'for a spreadsheet'],
    ['$0 list pipeline.yaml --starred --csv > best.csv', 'a list of what you starred in watch'],
  ],
  exits: { ...commonExits, complete: 'the scenes were listed, even if there are none' },
  work: (argv) => onBatch(argv, (batch) => list(batch, argv), { isReading: true }),
};

type Form = 'lines' | 'json' | 'csv';

async function list(batch: Batch, argv: Record<string, unknown>): Promise<void> {
  // Reading `dir` reports a wrong pipeline.yaml before a wrong option.
  void batch.dir;
  const choice = choiceOf(argv);
  const limit = limitOf(argv['limit']);
  const form = formOf(argv);
  const count = await batch.read((book) => {
    const rows = chosenRows(rowsChosen(argv, batch), book.db)(readRecords(book.db, choice), writeError);
    return show(rows, formatter(form, book), limit);
  });
  if (count === 0 && form === 'lines') writeError('No scene matches.');
}

/** Rows per write: enough to be fast, few enough that the first ones appear at once. */
const rowsAtOnce = 500;

/** Returns the number of rows shown. Stops early if the reader closed its end of the pipe. */
async function show(rows: Iterable<SceneRecord>, { head, text }: Formatter, limit: number): Promise<number> {
  let count = 0;
  let waiting: SceneRecord[] = [];
  if (!(await writeOutPart(head))) return count;
  for (const row of rows) {
    waiting.push(row);
    count += 1;
    if (count === limit) break;
    if (waiting.length < rowsAtOnce) continue;
    if (!(await writeOutPart(text(waiting)))) return count;
    waiting = [];
  }
  if (waiting.length > 0) await writeOutPart(text(waiting));
  return count;
}

interface Formatter {
  head: string;
  text: (rows: SceneRecord[]) => string;
}

function formatter(form: Form, { db, shownImages }: Book): Formatter {
  switch (form) {
    case 'json':
      return { head: '', text: (rows) => rows.map(resultLine).join('') };
    case 'csv': {
      const { header, text } = csvTable(resultColumns(readBatch(db)), {
        exact: true,
        labels: readLabels(db),
        told: readOutputColumns(db),
      });
      return { head: header, text };
    }
    case 'lines':
      return { head: '', text: listLines(shownImages) };
  }
}

function choiceOf(argv: Record<string, unknown>): RecordChoice {
  const states = wordsAmong(argv, 'state', rowStates, 'state of a scene');
  const kinds = wordsAmong(argv, 'kind', rowKinds, 'kind of failure');
  return {
    ...(states.length > 0 && { states }),
    ...(kinds.length > 0 && { kinds }),
    ...(typeof argv['search'] === 'string' && { search: argv['search'] }),
  };
}

function wordsAmong(argv: Record<string, unknown>, name: string, known: string[], what: string): string[] {
  const given = [argv[name] ?? []].flat().map(String);
  const problems = given
    .filter((word) => !known.includes(word))
    .map((word) => {
      const hint = didYouMean(word, known) ?? `expected one of ${known.join(', ')}`;
      return { where: `--${name}`, text: `${JSON.stringify(word)} is not a ${what}; ${hint}` };
    });
  if (problems.length > 0) throw new ConfigError(problems);
  return given;
}

function limitOf(given: unknown): number {
  if (given === undefined) return Infinity;
  const limit = Number(given);
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new ConfigError([
    {
      where: '--limit',
      text: `${JSON.stringify(given)} is not a number of scenes; expected a whole number from 1`,
    },
  ]);
}

function formOf(argv: Record<string, unknown>): Form {
  if (argv['json'] === true && argv['csv'] === true)
    throw new ConfigError([{ where: '--csv', text: '--json is given as well; expected one of the two' }]);
  if (argv['csv'] === true) return 'csv';
  return argv['json'] === true ? 'json' : 'lines';
}

/** Formats rows as lines. The first block of rows determines the width of the id column. */
function listLines(images: string): (rows: SceneRecord[]) => string {
  const columns = outColumns();
  let idCells: number | undefined;
  return (rows) => {
    const lines = rows.map((row) => ({ row, id: escapeControls(row.id ?? '(no id)') }));
    idCells ??= Math.min(maxIdCells, Math.max(...lines.map(({ id }) => widthOf(id))));
    const cells = idCells;
    return lines.map(({ row, id }) => `${lineOf(row, padTo(id, cells), images, columns)}\n`).join('');
  };
}

/** Maximum width of the id column; a longer id shifts the rest of its line. */
const maxIdCells = 32;

/** Width of a prompt. Prompts are left out if fewer than `minPromptCells` remain. */
const maxPromptCells = 48;
const minPromptCells = 20;

function lineOf(row: SceneRecord, id: string, images: string, columns: number): string {
  const attempts = row.attempts === 0 ? '' : `${row.attempts}×`;
  const start = `${id}  ${row.state.padEnd(9)}  ${attempts.padStart(2)}  `;
  const room = columns - widthOf(start);
  const cells = Math.min(maxPromptCells, Math.floor(room / 2) - 2);
  const prompt = oneLine(promptOf(row.input ?? {}, row.columns) ?? '') ?? '';
  const shown = cells < minPromptCells ? '' : `${padTo(truncate(prompt, cells), cells)}  `;
  const what = truncate(...whatOf(row, images, room - widthOf(shown)));
  return cutTo((start + shown + what).trimEnd(), columns);
}

/** Returns the file of a row, cut at its start, or the last failure. */
function whatOf(
  { state, pictures, files, failureKind, failureText, jobId, source }: SceneRecord,
  images: string,
  cells: number,
): [text: string, cells: number, keep: 'start' | 'end'] {
  const [first, ...more] = [...pictures, ...files];
  if (first !== undefined) {
    const path = `${images}/${first.file}${more.length === 0 ? '' : ` and ${more.length} more`}`;
    return [path, cells, 'end'];
  }
  if (state === 'invalid') return [`${source}: ${failureText ?? ''}`, cells, 'start'];
  if (failureKind !== null) return [`${failureKind}: ${failureText ?? ''}`, cells, 'start'];
  return [state === 'active' && jobId !== null ? `job ${jobId}` : '', cells, 'start'];
}
