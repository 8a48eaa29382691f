/** What the hostile service tells of itself afterwards: the jobs that it has seen, and what it did to them. */

export interface ServiceSettings {
  seed: number;
  /** Of the submissions, of the looks and of the jobs, this share (0 to 1) goes wrong. */
  faultShare: number;
  /** How long an ended job is kept. */
  retentionMs: number;
}

/** One job as the service knows it; one job is one bill. Instants are epoch ms. */
export interface JobRecord {
  id: string;
  number: number;
  /** The id of the scene that was sent. */
  scene: string;
  /** How it ends: `good`, or what goes wrong. */
  fate: string;
  /** The failure that the fate is to be taken for; null for a good one, and for one that the service loses. */
  kind: string | null;
  /** Of the picture it made; null for a job that made none that is whole. */
  sha256: string | null;
  /** Of the text that stands in the place of a picture; null where there is none, or an empty one. */
  brought: string | null;
  acceptedAt: number;
  /** Whether its id was told in an answer without a fault. */
  isNamed: boolean;
  /** Number of requests for its status. */
  polls: number;
  /** Null for a job that never ends by itself. */
  endedAt: number | null;
  /** When its whole result was first handed out. */
  deliveredAt: number | null;
  /** Whether its result was deleted early, to make a long time pass while no run was up. */
  isAged: boolean;
  isCancelled: boolean;
  /** How often it was said to be unknown because it had been deleted, or was lost. */
  denied: number;
}

/** A scene that can never be rendered, and why. */
export interface Cursed {
  scene: string;
  curse: string;
}

export interface ServiceReport {
  answers: number;
  faultyAnswers: number;
  /** How often each fault was met. */
  faults: Record<string, number>;
  jobs: JobRecord[];
  /** Those that were sent. */
  cursed: Cursed[];
  /** Requests that came where redirects lead, and those of them that carried the key. */
  strays: number;
  strayKeys: number;
}

/** Requests that a closed door met. */
export interface TurnedAway {
  submissions: number;
  others: number;
}
