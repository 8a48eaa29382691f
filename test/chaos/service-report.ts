/** The report of the hostile service: the jobs that it has seen, and the faults that it caused. */

export interface ServiceSettings {
  seed: number;
  /** Share of submissions, polls and jobs that go wrong, 0 to 1. */
  faultShare: number;
  /** How long an ended job is kept. */
  retentionMs: number;
}

/** One job as the service knows it; one job is one bill. Instants are epoch ms. */
export interface JobRecord {
  id: string;
  number: number;
  /** Id of the scene. */
  scene: string;
  /** How the job ends: `good`, or the name of a fault. */
  fate: string;
  /** Kind of failure that the program must record. Null for a good job, and for one that the service loses. */
  kind: string | null;
  /** SHA-256 of the picture. Null if the job made no complete picture. */
  sha256: string | null;
  /** SHA-256 of the data that was delivered as a picture, complete or damaged. Null if there is none. */
  brought: string | null;
  acceptedAt: number;
  /** True if its id was sent in an answer without a fault. */
  isNamed: boolean;
  /** Number of requests for its status. */
  polls: number;
  /** Null for a job that never ends by itself. */
  endedAt: number | null;
  /** When the complete result was first delivered. */
  deliveredAt: number | null;
  /** True if its result was deleted early, as if a long time had passed while no run was active. */
  isAged: boolean;
  isCancelled: boolean;
  /** Number of answers that called the job unknown because it had been deleted or lost. */
  denied: number;
}

/** A scene that can never be rendered, and the reason. */
export interface Cursed {
  scene: string;
  curse: string;
}

export interface ServiceReport {
  answers: number;
  faultyAnswers: number;
  /** Number of times that each fault occurred. */
  faults: Record<string, number>;
  jobs: JobRecord[];
  /** Cursed scenes that were submitted. */
  cursed: Cursed[];
  /** Number of requests to the target of redirects. `strayKeys` counts the ones with the key. */
  strays: number;
  strayKeys: number;
}

/** Requests that were rejected because of a closed door. */
export interface TurnedAway {
  submissions: number;
  others: number;
}
