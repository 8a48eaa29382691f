/** Puts scenes of a batch back to be rendered again, and chooses rows by a condition and by ids. */
import { randomInt } from 'node:crypto';
import type { Database } from '../lib/sqlite/database.ts';
import { formatCounts, plural, shellWord } from '../lib/text/format.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { isNamedByAttempt, readBatch, rowCondition, rowValues } from '../runner/checkpoint/batch-identity.ts';
import { type ChosenScene, type PaidBefore, putBackSession } from '../runner/checkpoint/put-back.ts';
import { readIdsLacking } from '../runner/checkpoint/recorded-pictures.ts';
import { pictureRepair } from '../runner/checkpoint/repair-checkpoint.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import { markedIn, MarksFile } from '../runner/files/marks-file.ts';
import { readReportKeys, type ReportKeys } from '../runner/config/schema-parts.ts';
import type { FailureKind } from '../runner/core/failure.ts';
import type { PutBack, PutBackChoice, WrongId } from '../runner/core/retry-policy.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import { isFreeOfCharge } from '../runner/core/spending.ts';
import { finishMoves } from '../runner/pipeline/recover.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import type { Batch } from './batch.ts';
import type { Book } from './book.ts';
import { maintenanceOptions } from './pictures-place.ts';
import { runArguments } from './refusal.ts';
import { type PipelineParts, fileValueAt } from '../runner/config/config.ts';
import { withServiceDefaults, readServiceInterface } from '../runner/config/service-interface.ts';
import { baseUrlExpected, endpointUrl } from '../runner/config/pipeline-schema.ts';

/** Union of all the scenes that the fields select. */
export interface RetryChoices {
  kinds: 'every' | FailureKind[];
  /** Ids of scenes, each with the place where it was given, such as `again.txt:3`. */
  ids: ReadonlyMap<string, string>;
  /** Condition for scenes that can be put back. */
  where: string | undefined;
  /** True to put back scenes that are marked to be rendered again, also saved ones. */
  isMarked: boolean;
  /** True to put back saved scenes that lack one of `output.files`. */
  isLackingFiles: boolean;
  /** True to give up jobs in flight at other addresses than `endpoint.baseUrl`. */
  isElsewhere: boolean;
  /** True if `ids` and `where` select scenes whose job in flight is given up. */
  isGivingUp: boolean;
  /** True if `ids` and `where` may select saved scenes. */
  isAgain: boolean;
  /** True if scenes of `ids` and `where` get another seed. */
  hasNewSeed: boolean;
  /** True if the user accepts that scenes may be paid for again. */
  isPaidAgain: boolean;
}

export interface RetryListener {
  /** Called for each scene that waits again, in the order of the list. */
  onScene: (scene: ChosenScene) => void;
  /** Called with a sentence if the condition needs values that scenes lack. */
  onNote: (text: string) => void;
}

export interface RetriedScenes extends PutBack {
  /** Number of pictures kept as `.former`. */
  kept: number;
  dir: string;
  runArguments: string;
  /** True if nobody bills the jobs. */
  isFree: boolean;
}

/** Puts the scenes back without sending anything. Throws `ConfigError` if an id is wrong; then nothing is changed. */
export async function retryScenes(
  batch: Batch,
  choices: RetryChoices,
  { onScene, onNote }: RetryListener,
): Promise<RetriedScenes> {
  const { arguments: others } = batch;
  const { isGivingUp, isAgain, where } = choices;
  const notAt = choices.isElsewhere ? readBaseUrl(batch.parts) : undefined;
  const files = choices.isLackingFiles ? filesOf(batch) : [];
  return batch.upkeep(async (book) => {
    const { dir, db } = book;
    const lacking = readIdsLacking(db, files);
    const matching = where === undefined ? [] : idsWhere(where, choices, db, onNote);
    const marked = choices.isMarked ? idsMarkedAgain(dir, db, onNote) : [];
    const named = [...choices.ids.keys(), ...matching, ...marked];
    const choice: PutBackChoice = {
      kinds: choices.kinds,
      notAt,
      ...(isGivingUp
        ? { ids: [], giveUp: named, isAgain }
        : { ids: [...new Set([...named, ...lacking])], isAgain: isAgain || files.length > 0 }),
      // Many renderers read a seed as a signed 32-bit integer.
      newSeed: choices.hasNewSeed ? () => randomInt(2 ** 31) : undefined,
    };
    const session = putBackSession(db);
    const known = readBatch(db);
    const isFree = known !== undefined && isFreeOfCharge(known.endpoint, known.pricing);
    if (!choices.isPaidAgain && !isFree) assertUnpaid(session.paidBefore(choice));
    const kept = choice.isAgain === true ? await setAside(batch, book, () => session.picturesOf(choice)) : 0;
    const done = session.putBack(choice, Date.now());
    if (Array.isArray(done)) throw new ConfigError(wrongIdProblems(done, choices.ids, others));
    let repeated = 0;
    for (const { sendsSeed, ...scene } of session.chosen()) {
      onScene(scene);
      if (scene.was === 'saved') repeated += sendsSeed;
    }
    if (isAgain && !choices.hasNewSeed && repeated > 0)
      onNote(
        `${plural(repeated, 'scene sends', 'scenes send')} the same seed as before, which makes the same picture if nothing else has changed; --new-seed sends another.`,
      );
    removeMarks(dir, marked, onNote);
    return { ...done, kept, dir, runArguments: runArguments(others, known?.lists), isFree };
  });
}

/** Throws `ConfigError` if jobs of these scenes may have been paid for. */
function assertUnpaid({ saved, givenUp, expired, unanswered }: PaidBefore): void {
  const counts = formatCounts([
    [saved, 'saved'],
    [givenUp, 'in flight'],
    [expired, 'expired'],
    [unanswered, 'unanswered'],
  ]);
  if (counts === '') return;
  const text = `is missing; the jobs of these scenes were or may have been paid for (${counts}), and the next run pays for each scene again; expected 'paid again'`;
  throw new ConfigError([{ where: 'confirm', text }]);
}

/** Renames the pictures and returns their number. After a crash, a second call or a repair continues. */
async function setAside(batch: Batch, book: Book, pictures: () => string[]): Promise<number> {
  if (isNamedByAttempt(book.db)) return 0;
  return book.withImages(maintenanceOptions(outputOf(batch)), async (images) => {
    await finishMoves(pictureRepair(book.db), images);
    let kept = 0;
    for (const picture of pictures()) if ((await images.setAside(picture, 'former')) !== undefined) kept += 1;
    return kept;
  });
}

function outputOf({ parts }: Batch): ReportKeys['output'] {
  return readReportKeys(parts).output;
}

/** Throws `ConfigError` if the batch has no `output.files`. */
function filesOf(batch: Batch): ReportKeys['output']['files'] {
  const { files } = outputOf(batch);
  if (files.length > 0) return files;
  throw new ConfigError([{ where: '--lacking-files', text: `${batch.file} has no output.files` }]);
}

/** Returns the ids of matching scenes that can be put back. */
function idsWhere(
  where: string,
  { isGivingUp, isAgain }: RetryChoices,
  db: Database,
  onNote: (text: string) => void,
): string[] {
  const states = isGivingUp ? ['active'] : isAgain ? ['failed', 'saved'] : ['failed'];
  const rows = rowFilter(where, db)(readRecords(db, { states }), onNote);
  return [...rows].flatMap(({ id }) => (id === null ? [] : [id]));
}

/** Returns the scenes that are marked to be rendered again. A mark that is older than the picture of its scene is done. */
function idsMarkedAgain(dir: string, db: Database, say: Say): string[] {
  const where = '--marked';
  const marked = markedIn(dir, 'again', { where, say });
  const { marks } = new MarksFile(dir).read();
  const ids = [...readRecords(db, { states: ['failed', 'saved'] })].flatMap(({ id, savedAt }) =>
    id !== null && marked.has(id) && (marks.get(id)?.at ?? 0) > (savedAt ?? 0) ? [id] : [],
  );
  const left = marked.size - ids.length;
  if (ids.length > 0 && left > 0)
    say(
      `${plural(left, 'marked scene is', 'marked scenes are')} left out: rendered since, waiting, or gone.`,
    );
  if (ids.length === 0)
    throw new ConfigError([
      { where, text: 'each scene that is marked has been rendered since, waits, or is gone' },
    ]);
  return ids;
}

/** Removes marks that have been followed. Those that stay, as after a crash, are older than the new pictures, and so are done. */
function removeMarks(dir: string, ids: string[], say: Say): void {
  if (ids.length === 0) return;
  try {
    const file = new MarksFile(dir);
    const { marks } = file.read();
    const followed = ids.filter((id) => marks.get(id)?.mark === 'again');
    file.change(
      followed.map((id) => ({ id, mark: null })),
      Date.now(),
    );
  } catch (error) {
    say(`The marks stay in ${dir}/marks.jsonl (${(error as Error).message}); they no longer count.`);
  }
}

/** Maximum number of wrong ids that are named. Further ones are counted, because a list may have thousands. */
const maxShown = 10;

function wrongIdProblems(wrong: WrongId[], places: ReadonlyMap<string, string>, others: string): Problem[] {
  const shown = wrong.slice(0, maxShown).map((each) => ({
    where: each.isSeedless ? '--new-seed' : (places.get(each.id) ?? '--id'),
    text: whyWrong(each, others),
  }));
  const count = wrong.length - shown.length;
  const more = { where: '', text: `${count.toLocaleString('en')} more cannot be put back`, count };
  return count > 0 ? [...shown, more] : shown;
}

function whyWrong({ id, state, isGiveUp, isSeedless }: WrongId, others: string): string {
  const shown = JSON.stringify(id);
  if (isSeedless) return `${shown} sends no seed: leave --new-seed out, so that the worker chooses another`;
  if (isGiveUp && state !== 'unknown') return `${shown} has no job in flight`;
  const command = `\`nightrender retry ${others} --id ${shellWord(id)}`;
  const again = `; ${command} --again\` renders it again and keeps the picture`;
  const giveUp = `; ${command} --give-up\` gives its job up`;
  const cure = state === 'saved' ? again : state === 'active' ? giveUp : '';
  return `${shown} ${whyNot[state]}${cure}`;
}

const whyNot: Record<WrongId['state'], string> = {
  failed: 'is set aside',
  unknown: 'is not the id of a scene in this batch',
  waiting: 'is already waiting: the next run renders it',
  unneeded: 'is sent only if the seeds before it do not meet `scenes.until`',
  active: 'is in flight: the next run collects it',
  saved: 'is saved',
  withdrawn: 'is no longer in the manifest',
};

export interface RowsChosen {
  /** Condition in the form of `--where`. */
  where?: string | undefined;
  /** Ids of scenes, each with the place where it was given, such as `starred.txt:3`. */
  ids?: ReadonlyMap<string, string> | undefined;
}

type Say = (text: string) => void;

/** Filters rows. After the last row, `say` gets a sentence for everything that could not be judged or found. */
type Filter = (rows: Iterable<SceneRecord>, say: Say) => Iterable<SceneRecord>;

/** Returns a filter for rows that meet both choices. Throws `ConfigError`. */
export function chosenRows({ where, ids }: RowsChosen, db: Database): Filter {
  const filter = where === undefined ? undefined : rowFilter(where, db);
  return (all, say) => {
    const rows = filter?.(all, say) ?? all;
    return ids === undefined ? rows : rowsOf(rows, ids, say);
  };
}

/** Returns a filter for rows that meet the condition. Throws `ConfigError`. */
function rowFilter(where: string, db: Database): Filter {
  const meets = rowCondition(rowValues(readBatch(db)), where, '--where');
  return function* (rows, say) {
    let missing = 0;
    for (const row of rows) {
      const isIt = meets(row);
      if (isIt === true) yield row;
      if (isIt === undefined) missing += 1;
    }
    if (missing > 0)
      say(`${plural(missing, 'scene lacks', 'scenes lack')} a value that --where asks for; left out.`);
  };
}

function* rowsOf(
  rows: Iterable<SceneRecord>,
  ids: ReadonlyMap<string, string>,
  say: Say,
): Generator<SceneRecord> {
  const found = new Set<string>();
  for (const row of rows) {
    if (row.id === null || !ids.has(row.id)) continue;
    found.add(row.id);
    yield row;
  }
  sayStrangers(
    [...ids].filter(([id]) => !found.has(id)),
    say,
  );
}

/** Maximum unknown ids that are named: a list for another batch has no known id. */
const maxStrangers = 10;

/** Reports unknown ids. Ids that the condition excludes cannot be distinguished from them. */
function sayStrangers(strangers: [id: string, place: string][], say: Say): void {
  for (const [id, place] of strangers.slice(0, maxStrangers))
    say(escapeControls(`${place}: no matching scene has the id ${JSON.stringify(id)}`));
  const more = strangers.length - maxStrangers;
  if (more > 0) say(`${more.toLocaleString('en')} more ids belong to no matching scene`);
}

/** Returns `endpoint.baseUrl` in the form in which jobs are recorded under it. Throws `ConfigError`. */
function readBaseUrl({ yaml: read, file, env }: PipelineParts): string {
  const yaml = withServiceDefaults(read, readServiceInterface(read, file, env));
  const { value: baseUrl, where, problems } = fileValueAt(yaml, ['endpoint', 'baseUrl']);
  if (problems.length > 0) throw new ConfigError(problems);
  if (typeof baseUrl === 'string' && baseUrlExpected(baseUrl) === undefined) return endpointUrl(baseUrl);
  throw new ConfigError([
    yaml.problems[0] ?? { where, text: 'endpoint.baseUrl is not a URL; expected local or http(s)://…' },
  ]);
}
