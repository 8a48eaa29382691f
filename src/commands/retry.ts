/** `nightrender retry`: puts scenes back to be rendered again: failed ones, or those that a user wants changed. */
import {
  retryScenes,
  type RetriedScenes,
  type RetryChoices,
  type RetryListener,
} from '../batch/retry-scenes.ts';
import { keptText } from '../batch/refusal.ts';
import { closest } from '../lib/text/closest.ts';
import { plural } from '../lib/text/format.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { ChosenScene } from '../runner/checkpoint/put-back.ts';
import { failureRules, isFailureKind, type FailureKind } from '../runner/core/failure.ts';
import { writeError, writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import { screenful } from '../terminal/words.ts';
import { commonExits, type LoadedCommand, textOption } from './command.ts';
import { conditionOf, idsGiven, textsOf } from './scene-options.ts';
import { onBatch } from './reply.ts';

export const retryCommand: LoadedCommand = {
  purpose: `Puts failed scenes back with new attempts: the next run renders them, each billed as a new job. Options add up, but --where stands alone; the default is --failed. Sends nothing.`,
  shared: ['output', 'json'],
  options: {
    failed: { type: 'boolean', describe: 'every failed scene' },
    kind: { ...textOption, describe: 'failed scenes of this kind; may be given several times' },
    id: { ...textOption, describe: 'the failed scene of this id; may be given several times' },
    ids: { ...textOption, describe: 'the same for a file of ids, one a line, such as the gallery exports' },
    marked: {
      type: 'boolean',
      describe:
        'scenes that are marked in `watch` to be rendered again; their pictures are kept as <name>.former',
    },
    where: {
      ...textOption,
      describe: 'failed scenes that meet a condition, as in `list`',
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
      describe: 'with --id, --ids or --where: give up the job in flight of that scene; it may be billed',
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
    ['$0 retry pipeline.yaml --marked --new-seed', 'what you marked in watch, as other pictures'],
    ['$0 retry pipeline.yaml --where "style = \'ink\'" --again', 'all of one style'],
    ['$0 retry pipeline.yaml --elsewhere', 'after moving to another service for good'],
  ],
  exits: {
    ...commonExits,
    'already-running': 'a run holds this batch: stop it first',
    complete: 'the scenes wait again',
  },
  work: (argv) => retry(argv),
};

/** Resolves to the exit code. */
export function retry(argv: Record<string, unknown>): Promise<number> {
  return onBatch(argv, async (batch, json) => {
    // Reading `dir` reports a wrong pipeline.yaml before a wrong option.
    void batch.dir;
    const view = createRetryView(json);
    view.end(await retryScenes(batch, choicesOf(argv), view));
  });
}

/** Returns the condition of `--where`. Throws `ConfigError` if another option chooses scenes as well. */
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

const choosing = ['failed', 'kind', 'id', 'ids', 'marked', 'expired', 'held', 'elsewhere', 'lacking-files'];

/** Combines the options: they add up, and none at all means every failed scene. */
function choicesOf(argv: Record<string, unknown>): RetryChoices {
  const ids = idsGiven(argv);
  const kinds: FailureKind[] = [
    ...textsOf(argv, 'kind').map(kindOf),
    ...(argv['held'] === true ? (['unanswered'] as const) : []),
    ...(argv['expired'] === true ? (['expired'] as const) : []),
  ];
  const isElsewhere = argv['elsewhere'] === true;
  const isGivingUp = argv['giveUp'] === true;
  const isMarked = argv['marked'] === true;
  const isAgain = argv['again'] === true || isMarked;
  const hasNewSeed = argv['newSeed'] === true;
  const isLackingFiles = argv['lackingFiles'] === true;
  if ((isGivingUp || isAgain) && !isMarked && ids.size === 0 && argv['where'] === undefined) {
    const where = isGivingUp ? '--give-up' : '--again';
    throw new ConfigError([{ where, text: 'name the scene with --id, or many with --ids or --where' }]);
  }
  const beside = isMarked
    ? choosing.find((name) => name !== 'marked' && argv[name] !== undefined)
    : undefined;
  if (beside !== undefined)
    throw new ConfigError([
      { where: '--marked', text: `--${beside} is given as well; leave one of them out` },
    ]);
  if (hasNewSeed && !isAgain)
    throw new ConfigError([{ where: '--new-seed', text: 'requires --again or --marked' }]);
  const isChosen =
    kinds.length > 0 ||
    ids.size > 0 ||
    isMarked ||
    isElsewhere ||
    isLackingFiles ||
    argv['where'] !== undefined;
  const isBare = argv['failed'] === undefined && !isChosen;
  return {
    kinds: argv['failed'] === true || isBare ? 'every' : kinds,
    ids,
    where: whereAlone(argv),
    isMarked,
    isLackingFiles,
    isElsewhere,
    isGivingUp,
    isAgain,
    hasNewSeed,
    // Giving the command is the consent to pay again.
    isPaidAgain: true,
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

interface RetryView extends RetryListener {
  end: (retried: RetriedScenes) => void;
}

export function createRetryView(json: boolean): RetryView {
  const shown: ChosenScene[] = [];
  return {
    onScene: ({ id, was }) => {
      if (json) writeJsonLine('scene-put-back', { scene: id, was });
      else if (shown.length < screenful) shown.push({ id, was });
    },
    onNote: writeError,
    end: (retried) => {
      const { scenes, givenUp, kept } = retried;
      if (json) writeJsonLine('put-back', { scenes, givenUp, kept });
      else for (const line of describe(retried, shown)) writeOut(line);
    },
  };
}

function describe(
  { scenes, givenUp, kept, dir, runArguments, isFree }: RetriedScenes,
  shown: ChosenScene[],
): string[] {
  if (scenes + givenUp === 0) return ['Nothing to put back.'];
  const doubt = isFree ? 'run on' : 'be billed';
  const jobs = givenUp > 0 ? [`${plural(givenUp, 'job')} in flight given up; they may ${doubt}.`] : [];
  if (scenes === 0) return jobs;
  const former = keptText(kept, dir);
  const more = scenes - shown.length;
  return [
    ...jobs,
    `${plural(scenes, 'scene waits', 'scenes wait')} to be rendered again:`,
    ...shown.map(({ id, was }) => escapeControls(`  ${id} (${was})`)),
    ...(more > 0 ? [`  and ${more.toLocaleString('en')} more; --json names all of them`] : []),
    ...(former === undefined ? [] : [`${former}.`]),
    `At least ${plural(scenes, 'new job')} will ${isFree ? 'run' : 'be billed'}: \`nightrender run ${runArguments}\`.`,
  ];
}
