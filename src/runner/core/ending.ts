/** The ways in which the program ends, with the exit codes that scripts rely on. */

export interface EndingRule {
  exitCode: number;
  isResumable: boolean;
  means: string;
  /** Step that the user has to take before the run can resume. Absent if there is none. */
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

/** Exit codes after which a run may have left part of its final work undone. */
export const disorderlyExitCodes = [endings.bug.exitCode, endings['output-unwritable'].exitCode] as const;

export interface Ending {
  kind: EndingKind;
  text: string;
  /** True if the checkpoint is lost, so the same command cannot simply resume. */
  isLost?: true;
}
