/** `nightrender retry`: puts scenes that were set aside, or that a person wants otherwise, back to be rendered again. */
import { overridesOf } from '../batch/overrides.ts';
import { randomInt } from 'node:crypto';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import { conditionOf, rowFilter } from './where-option.ts';
import { readIdsLacking, pictureRepair } from '../runner/checkpoint/recorded-pictures.ts';
import { putBackSession } from '../runner/checkpoint/put-back.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { PipelineParts, type ReportKeys } from '../runner/config/pipeline-parts.ts';
import { closest } from '../lib/text/closest.ts';
import { failureRules, isFailureKind, type FailureKind } from '../runner/core/failure.ts';
import type { NamedFile } from '../runner/core/named-file.ts';
import { shellWord, plural } from '../lib/text/format.ts';
import type { PutBackChoice, WrongId } from '../runner/core/put-back.ts';
import { isFreeOfCharge } from '../runner/core/spending.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { keptText, runArguments } from '../batch/shown-path.ts';
import type { Book } from '../batch/book.ts';
import { bucketOf, finishMoves } from '../batch/pictures-place.ts';
import { maintenanceOptions } from '../batch/output-files.ts';
import { type LoadedCommand, common, textOption } from './command.ts';
import { onBatch } from './reply.ts';
import { readIds, textsOf } from './read-ids.ts';
import { writeOut } from '../terminal/console.ts';
import { harmless } from '../terminal/fit-text.ts';
import { writeJsonLine } from '../terminal/json-lines.ts';
import { screenful } from '../terminal/words.ts';

export const retryCommand: LoadedCommand = {
  purpose: `Puts failed scenes back with new attempts: the next run renders them, each billed as a new job. Options add up, but --where stands alone; the default is --failed. Sends nothing.`,
  shared: ['output', 'json'],
  options: {
    failed: { type: 'boolean', describe: 'every failed scene' },
    kind: { ...textOption, describe: 'failed scenes of this kind; may be given several times' },
    id: { ...textOption, describe: 'the failed scene of this id; may be given several times' },
    ids: { ...textOption, describe: 'the same for a file of ids, one a line, such as the gallery exports' },
    where: {
      ...textOption,
      describe: 'failed scenes that a condition holds for, as in `list`',
    },
    again: {
      type: 'boolean',
      describe: 'with --id, --ids or --where: a saved scene, too; its picture is kept as <name>.former',
    },
    'new-seed': { type: 'boolean', describe: 'with --again: send another seed from then on' },
    'lacking-files': {
      type: 'boolean',
      describe:
        'saved scenes that lack one of output.files, since they were saved before; pictures are kept as <name>.former',
    },
    expired: { type: 'boolean', describe: 'the same as --kind expired' },
    held: { type: 'boolean', describe: 'set aside by retry.unanswered: hold (--kind unanswered)' },
    'give-up': {
      type: 'boolean',
      describe:
        'with --id, --ids or --where: give up the job of that scene that is in flight; it may be billed',
    },
    elsewhere: {
      type: 'boolean',
      describe: 'give up jobs in flight at another address than endpoint.baseUrl',
    },
  },
  examples: [
    ['$0 retry pipeline.yaml', 'every failed scene once more'],
    ['$0 retry pipeline.yaml --kind job-failed --kind no-output', 'only these kinds'],
    ['$0 retry pipeline.yaml --id harbour --id harbour-2', 'only these scenes'],
    ['$0 retry pipeline.yaml --id harbour --give-up', 'its job never comes to an end'],
    ['$0 retry pipeline.yaml --id harbour --again --new-seed', 'you want another picture'],
    ['$0 retry pipeline.yaml --ids render-again.txt --again', 'what you marked in the gallery'],
    ['$0 retry pipeline.yaml --where "style = \'ink\'" --again', 'all of one style'],
    ['$0 retry pipeline.yaml --elsewhere', 'after moving to another service for good'],
  ],
  exits: {
    ...common,
    'already-running': 'a run holds this batch: stop it first',
    complete: 'the scenes wait again',
  },
  work: (argv) => retry(argv),
};

/** Resolves to the exit code. */
export function retry(argv: Record<string, unknown>): Promise<number> {
  return onBatch(argv, async (batch, json) => {
    const { file, arguments: others } = batch;
    let kept = 0;
    const places = readIds(argv);
    const asked = choiceOf(file, argv, [...places.keys()]);
    const where = whereAlone(argv);
    const files = argv['lackingFiles'] === true ? filesOf(file) : [];
    await batch.upkeep(async (book) => {
      const { dir, db } = book;
      const lacking = readIdsLacking(db, files);
      const matching = where === undefined ? [] : idsWhere(where, asked, db);
      const ids = [...new Set([...asked.ids, ...lacking, ...matching])];
      const choice =
        asked.giveUp === undefined
          ? { ...asked, ids, isAgain: asked.isAgain === true || files.length > 0 }
          : { ...asked, giveUp: [...asked.giveUp, ...matching] };
      const session = putBackSession(db);
      if (choice.isAgain === true) kept = await setAside(file, book, () => session.picturesOf(choice));
      const done = session.putBack(choice, Date.now());
      if (Array.isArray(done)) throw new ConfigError(wrongIdProblems(done, places, others));
      const known = readBatch(db);
      printPutBack(
        {
          ...done,
          chosen: session.chosen(),
          file: runArguments(others, known?.lists),
          kept,
          keptText: keptText(kept, dir),
          isFree: known !== undefined && isFreeOfCharge(known.endpoint, known.pricing),
        },
        json,
      );
    });
  });
}

/** Returns how many. A death here leaves pictures that are missing: the same command goes on, and so does `verify --repair`. */
async function setAside(file: string, book: Book, pictures: () => string[]): Promise<number> {
  // In a bucket they keep their names.
  if (bucketOf(book.db) !== undefined) return 0;
  return book.withImages(maintenanceOptions(outputOf(file)), async (images) => {
    await finishMoves(images, pictureRepair(book.db));
    let kept = 0;
    for (const picture of pictures()) if ((await images.setAside(picture, 'former')) !== undefined) kept += 1;
    return kept;
  });
}

function outputOf(file: string): ReportKeys['output'] {
  return new PipelineParts(file, overridesOf({}, process.env), process.env).report().output;
}

/** Throws `ConfigError` where none is asked for. */
function filesOf(file: string): NamedFile[] {
  const { files } = outputOf(file);
  if (files.length > 0) return files;
  throw new ConfigError([{ where: '--lacking-files', text: `${file} has no output.files` }]);
}

/** The condition, which may name states and kinds itself. */
function whereAlone(argv: Record<string, unknown>): string | undefined {
  const where = conditionOf(argv);
  const other = choosing.find((name) => argv[name] !== undefined);
  if (where === undefined || other === undefined) return where;
  throw new ConfigError([
    {
      where: '--where',
      text: `--${other} is given as well; leave one of them out. A condition may name id, kind and state itself`,
    },
  ]);
}

const choosing = ['failed', 'kind', 'id', 'ids', 'expired', 'held', 'elsewhere', 'lacking-files'];

/** Those that could be put back. */
function idsWhere(where: string, { giveUp, isAgain }: PutBackChoice, db: Database): string[] {
  const states = giveUp !== undefined ? ['active'] : isAgain === true ? ['failed', 'saved'] : ['failed'];
  const rows = rowFilter(where, db)(readRecords(db, { states }));
  return [...rows].flatMap(({ id }) => (id === null ? [] : [id]));
}

/** Options add up; none means every failed scene. */
function choiceOf(file: string, argv: Record<string, unknown>, ids: string[]): PutBackChoice {
  const kinds: FailureKind[] = [
    ...textsOf(argv, 'kind').map(kindOf),
    ...(argv['held'] === true ? (['unanswered'] as const) : []),
    ...(argv['expired'] === true ? (['expired'] as const) : []),
  ];
  const isElsewhere = argv['elsewhere'] === true;
  const isGiveUp = argv['giveUp'] === true;
  const isAgain = argv['again'] === true;
  if ((isGiveUp || isAgain) && ids.length === 0 && argv['where'] === undefined) {
    const where = isGiveUp ? '--give-up' : '--again';
    throw new ConfigError([{ where, text: 'name the scene with --id, or many with --ids or --where' }]);
  }
  if (argv['newSeed'] === true && !isAgain)
    throw new ConfigError([{ where: '--new-seed', text: 'requires --again' }]);
  const isChosen =
    kinds.length > 0 ||
    ids.length > 0 ||
    isElsewhere ||
    argv['lackingFiles'] === true ||
    argv['where'] !== undefined;
  const isBare = argv['failed'] === undefined && !isChosen;
  return {
    kinds: argv['failed'] === true || isBare ? 'every' : kinds,
    ids: isGiveUp ? [] : ids,
    notAt: isElsewhere ? new PipelineParts(file, [], process.env).baseUrl() : undefined,
    ...(isGiveUp && { giveUp: ids }),
    isAgain,
    // Many renderers read a seed as a signed integer of 32 bits.
    newSeed: argv['newSeed'] === true ? () => randomInt(2 ** 31) : undefined,
  };
}

function kindOf(text: string): FailureKind {
  if (isFailureKind(text)) return text;
  const meant = closest(text, Object.keys(failureRules));
  const hint =
    meant === undefined
      ? `expected one of ${Object.keys(failureRules).join(', ')}`
      : `did you mean ${meant}? \`nightrender status\` lists what failed`;
  throw new ConfigError([
    { where: '--kind', text: `${JSON.stringify(text)} is not a kind of failure; ${hint}` },
  ]);
}

/** More are counted: a list may have thousands of wrong ids. */
const maxShown = 10;

/** `others` is what follows other commands for the batch. */
function wrongIdProblems(wrong: WrongId[], places: Map<string, string>, others: string): Problem[] {
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
  if (isSeedless) return `${shown} sends no seed: leave --new-seed out, and the worker chooses another`;
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
  waiting: 'is waiting already: the next run renders it',
  unneeded: 'is sent only where the seeds before it fall short (`scenes.until`)',
  active: 'is in flight: the next run collects it',
  saved: 'is saved',
  withdrawn: 'is no longer in the manifest',
};

interface ShownPutBack {
  scenes: number;
  /** Jobs in flight that were given up. */
  givenUp: number;
  chosen: Iterable<{ id: string; was: string }>;
  /** What follows `nightrender run` for this batch. */
  file: string;
  /** Pictures that are kept as `.former`, and a sentence about them without its full stop, where there are any. */
  kept?: number;
  keptText?: string | undefined;
  /** True if nobody sends a bill for the jobs. */
  isFree?: boolean;
}

export function printPutBack(
  { scenes, givenUp, chosen, file, kept = 0, keptText: former, isFree = false }: ShownPutBack,
  json: boolean,
): void {
  if (json) {
    for (const { id, was } of chosen) writeJsonLine('scene-put-back', { scene: id, was });
    return writeJsonLine('put-back', { scenes, givenUp, kept });
  }
  if (scenes + givenUp === 0) return writeOut('Nothing to put back.');
  const doubt = isFree ? 'run on' : 'be billed';
  if (givenUp > 0) writeOut(`${plural(givenUp, 'job')} in flight given up; they may ${doubt}.`);
  if (scenes === 0) return;
  writeOut(`${plural(scenes, 'scene waits', 'scenes wait')} to be rendered again:`);
  let shown = 0;
  for (const { id, was } of chosen) {
    if (shown === screenful) break;
    writeOut(harmless(`  ${id} (${was})`));
    shown += 1;
  }
  if (scenes > shown)
    writeOut(`  and ${(scenes - shown).toLocaleString('en')} more; --json names all of them`);
  if (former !== undefined) writeOut(`${former}.`);
  writeOut(
    `At least ${plural(scenes, 'new job')} will ${isFree ? 'run' : 'be billed'}: \`nightrender run ${file}\`.`,
  );
}
