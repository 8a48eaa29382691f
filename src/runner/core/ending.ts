/** The ways the program ends, with the exit codes that scripts rely on. */

export interface EndingRule {
  exitCode: number;
  /** Whether the same command resumes it. */
  isResumable: boolean;
  means: string;
  /** What has to be done before it can go on, where something has. */
  first?: string;
}

export const endings = {
  complete: { exitCode: 0, isResumable: false, means: 'every scene is saved' },
  bug: { exitCode: 1, isResumable: false, means: 'a bug of nightrender' },
  'wrong-use': {
    exitCode: 2,
    isResumable: false,
    means: 'wrong use, configuration or manifest; nothing was sent or written',
  },
  incomplete: {
    exitCode: 3,
    isResumable: false,
    means: 'the run ended and some scenes are not saved, or saved pictures are missing',
  },
  halted: { exitCode: 10, isResumable: true, means: 'stopped by a halt rule', first: 'once that is fixed' },
  'already-running': { exitCode: 11, isResumable: true, means: 'another run holds this batch' },
  'not-allowed': {
    exitCode: 12,
    isResumable: true,
    means: 'key refused, or account, endpoint or workflow not usable',
    first: 'once that is fixed',
  },
  'limit-reached': {
    exitCode: 13,
    isResumable: true,
    means: 'deadline or budget reached',
    first: 'as soon as `limits` allow it',
  },
  'output-unwritable': {
    exitCode: 14,
    isResumable: true,
    means: 'disk full or failing, or output not writable',
    first: 'once that is fixed',
  },
  interrupted: { exitCode: 130, isResumable: true, means: 'stopped by SIGINT' },
  terminated: { exitCode: 143, isResumable: true, means: 'stopped by SIGTERM' },
} as const satisfies Record<string, EndingRule>;

export type EndingKind = keyof typeof endings;

/** After these a run may not have done what was left to do at its end. */
export const disorderlyExitCodes = [endings.bug.exitCode, endings['output-unwritable'].exitCode] as const;

/** How a run ended, for people and for the exit code. */
export interface Ending {
  kind: EndingKind;
  /** One sentence. */
  text: string;
  /** What the batch knew is lost, so that the same command does not simply go on. */
  isLost?: true;
}
