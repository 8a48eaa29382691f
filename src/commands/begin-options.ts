/** What a person says to a start that is refused without it; for one start, so that no file can forget it. */
import { ConfigError } from '../lib/yaml/problem.ts';
import type { BatchSettings } from '../runner/pipeline/settings.ts';

export const beginOptions = {
  'accept-loss': {
    type: 'boolean',
    describe: 'go on though a part of the checkpoint was lost; lost submissions count as unanswered',
  },
  adopt: {
    type: 'boolean',
    describe: 'take over pictures in the folder that the checkpoint does not know, each checked',
  },
  fresh: {
    type: 'boolean',
    describe: 'render again what the checkpoint does not know, and keep the pictures as <name>.former',
  },
} as const;

export interface BeginChoices {
  isLossAccepted: boolean;
  isAdopting: boolean;
  isFresh: boolean;
}

export const noChoices: BeginChoices = { isLossAccepted: false, isAdopting: false, isFresh: false };

export function unknownPicturesOf({ isAdopting, isFresh }: BeginChoices): BatchSettings['unknownPictures'] {
  if (isAdopting) return 'adopt';
  return isFresh ? 'keep' : 'ask';
}

export function beginChoicesOf(argv: Record<string, unknown>): BeginChoices {
  const [isAdopting, isFresh] = [argv['adopt'] === true, argv['fresh'] === true];
  if (isAdopting && isFresh)
    throw new ConfigError([{ where: '--fresh', text: 'keeps aside the pictures that --adopt takes over' }]);
  // Who says what is to become of the pictures goes on.
  const isLossAccepted = argv['acceptLoss'] === true || isAdopting || isFresh;
  return { isLossAccepted, isAdopting, isFresh };
}
