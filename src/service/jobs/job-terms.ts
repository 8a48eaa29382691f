/** On which terms a job is worked on: its client's, within its endpoint's. */

export interface JobTerms {
  /** The key that submitted it, or `console`. */
  keyId: string;
  /** How long one worker may take. */
  executionTimeoutMs: number;
  /** From its submission: how long it may take altogether. */
  ttlMs: number;
  /** Behind all others. */
  isLowPriority: boolean;
  /** How often it is put back into the queue because its worker died, before it fails. */
  maxRetries: number;
  /** Told of its end. */
  webhook: string | null;
  /** Whether its id says that somebody waits for the answer. */
  isSync: boolean;
}

/** What real services do where a job says nothing. */
export const defaultTerms: Readonly<JobTerms> = {
  keyId: 'none',
  executionTimeoutMs: 10 * 60_000,
  ttlMs: 24 * 60 * 60_000,
  isLowPriority: false,
  maxRetries: 2,
  webhook: null,
  isSync: false,
};
