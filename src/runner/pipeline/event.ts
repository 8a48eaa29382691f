/** What happens in a run, emitted once each and shown by a listener. */
import type { EndingKind } from '../core/ending.ts';
import type { FailureKind } from '../core/failure.ts';
import type { HeldResults } from '../core/holding.ts';
import type { Plan } from '../core/plan.ts';
import type { SceneName } from '../core/prompt.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { PictureTotals } from '../core/picture.ts';
import type { SceneCounts } from '../core/scene.ts';
import type { ServiceHealth } from '../core/service-health.ts';
import type { Cost } from '../core/spending.ts';

export type Event =
  | {
      type: 'run-started';
      program: string;
      manifest: string[];
      endpoint: string;
      outputDir: string;
      concurrency: number;
      /** Present if most of the batch is rendered again: how many scenes, for what price and why, in a sentence. */
      edits?: string;
    }
  /** Something the user should know and may want to change; the run continues. */
  | { type: 'warning'; text: string }
  /** `part`: of the scenes that a preview renders; those of all where there is none. */
  | ({ type: 'plan-made'; counts: SceneCounts; part?: SceneCounts } & Plan)
  /** Pictures that no record knew are the batch's now, `byName` of them by nothing but that; `examples` says of some that are not, why. */
  | {
      type: 'adopted';
      scenes: number;
      pictures: number;
      byName: number;
      unused: number;
      examples: string[];
    }
  /** Attempts of dead runs that may have been sent without an answer, and jobs that are still in flight. */
  | { type: 'recovered'; unanswered: number; inFlight: number }
  | { type: 'scene-submitted'; scene: string; attempt: number; jobId: string }
  /** The service's word for a job has changed. */
  | { type: 'job-status'; scene: string; jobId: string; status: string }
  | ({
      type: 'scene-saved';
      attempt: number;
      jobId: string;
      files: string[];
      seed?: string;
      /** As the service reports it. */
      executionTimeMs?: number;
      cost?: Cost;
    } & SceneName)
  | ({
      type: 'attempt-failed';
      attempt: number;
      jobId?: string;
      kind: FailureKind;
      text: string;
      /** `waiting`: there will be another attempt, at `dueAt` (epoch ms). */
      next: 'failed' | 'waiting';
      dueAt?: number;
      executionTimeMs?: number;
      /** What the batch has cost so far, where `pricing` is set. */
      cost?: Cost;
    } & SceneName)
  /** The result of a job cannot be used with the present settings: its attempt stays in flight. */
  | ({
      type: 'result-held';
      jobId: string;
      kind: FailureKind;
      text: string;
      /** The setting that it waits for, in words. */
      setting: string;
    } & SceneName)
  /** A request was not answered usefully and will be sent again; neither attempt nor scene is touched. */
  | ({ type: 'request-troubled'; kind: FailureKind; text: string; waitMs: number } & SceneName)
  /** The service refuses key, account or endpoint, which have worked in this run: submissions wait until it is asked again. */
  | { type: 'access-refused'; kind: FailureKind; text: string; waitMs: number }
  /** It accepts them again, so long after the first refusal. */
  | { type: 'access-regained'; afterMs: number }
  /** How the endpoint's workers and jobs are, where the service reports it, emitted now and then. */
  | ({ type: 'service-health' } & ServiceHealth)
  | { type: 'stopping'; ending: EndingKind; text: string }
  /** What the run needed and what held it back; emitted on request. */
  | ({ type: 'run-stats' } & RunStats)
  | {
      type: 'run-ended';
      ending: EndingKind;
      exitCode: number;
      text: string;
      /** What the batch knew is lost, so that the same command does not simply go on. */
      isLost?: true;
      counts: SceneCounts;
      /** As in `plan-made`. */
      part?: SceneCounts;
      /** What has to be known of how its pictures were chosen, in a sentence. */
      bias?: string;
      /** Of all that is on record. */
      pictures?: PictureTotals;
      outputDir: string;
      report: string | undefined;
      /** What the batch has cost so far, where the price is known. */
      cost: Cost | undefined;
      /** Submissions of the batch with an unknown outcome that may have been billed: unanswered and expired ones. */
      untold: number;
      /** Results that wait for a setting, where there are any. */
      held?: HeldResults[];
      /** Paid jobs of this run whose results are lost, where there are any. */
      lostResults?: number;
      /** Saved pictures that are missing or have another size, where there are any. */
      missingPictures?: number;
    };

export type RunEnded = Event & { type: 'run-ended' };
