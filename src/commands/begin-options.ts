/** What a person says to a start that is refused without it; for one start, so that no file can forget it. */

export const beginOptions = {
  'accept-loss': {
    type: 'boolean',
    describe: 'go on though a part of the checkpoint was lost; lost submissions count as unanswered',
  },
} as const;

export interface BeginChoices {
  isLossAccepted: boolean;
}

export function beginChoicesOf(argv: Record<string, unknown>): BeginChoices {
  return { isLossAccepted: argv['acceptLoss'] === true };
}
