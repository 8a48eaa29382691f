/** Options for one start only, so that no file can set them: `--sample` and `--limit`, and the consents to a start that is refused without them. */

export const beginOptions = {
  'accept-loss': {
    type: 'boolean',
    describe: 'resume although part of the checkpoint was lost; lost submissions count as unanswered',
  },
  adopt: {
    type: 'boolean',
    describe: 'adopt pictures in the folder that are not in the checkpoint, after checking each',
  },
  fresh: {
    type: 'boolean',
    describe: 'render again what is not in the checkpoint; keep the pictures as <name>.former',
  },
} as const;

/** Both are read as text, so that what is no number can be named. */
export const partOptions = {
  sample: {
    type: 'string',
    requiresArg: true,
    describe: 'render only a share, such as 1% or 0.01, drawn from the whole list, the same scenes each time',
  },
  limit: {
    type: 'string',
    requiresArg: true,
    describe: 'render only this many scenes, drawn the same way; saved ones count',
  },
} as const;
