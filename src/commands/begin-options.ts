/** What a person says to a start that is refused without it; for one start, so that no file can forget it. */
import { ConfigError } from '../config/problem.ts';

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
    describe: 'where the checkpoint is gone: begin afresh, and keep pictures as <name>.former',
  },
} as const;

export interface BeginChoices {
  isLossAccepted: boolean;
  isAdopting: boolean;
  isFresh: boolean;
}

export const noChoices: BeginChoices = { isLossAccepted: false, isAdopting: false, isFresh: false };

export function beginChoicesOf(argv: Record<string, unknown>): BeginChoices {
  const [isAdopting, isFresh] = [argv['adopt'] === true, argv['fresh'] === true];
  if (isAdopting && isFresh)
    throw new ConfigError([{ where: '--fresh', text: 'keeps aside the pictures that --adopt takes over' }]);
  return { isLossAccepted: argv['acceptLoss'] === true, isAdopting, isFresh };
}
