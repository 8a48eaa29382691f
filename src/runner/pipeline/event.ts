/** Events of a run. Each is emitted once and shown by a listener. */
import type { EndingKind } from '../core/ending.ts';
import type { FailureKind } from '../core/failure.ts';
import type { HeldResults } from '../core/halting.ts';
import type { Plan } from '../core/batch-plan.ts';
import type { SceneName } from '../core/naming.ts';
import type { MoreJobs, RunStats } from '../core/run-stats.ts';
import type { PictureTotals } from '../core/picture.ts';
import type { SceneCounts } from '../core/scene.ts';
import type { ServiceHealth } from '../core/service-description.ts';
import type { Cost } from '../core/spending.ts';

export type Event =
  | {
      type: 'run-started';
      program: string;
      manifest: string[];
      endpoint: string;
      outputDir: string;
      concurrency: number;
      /** Sentence with the number of scenes, price and reason, if most of the batch is rendered again. */
      edits?: string;
    }
  /** Something that the user should know and may want to change. The run continues. */
  | { type: 'warning'; text: string }
  /** `part` counts the scenes of a preview; it is absent if the whole batch is rendered. */
  | ({ type: 'plan-made'; counts: SceneCounts; part?: SceneCounts } & Plan)
  /** Unknown pictures were adopted, `byName` only by their names. `examples`: reasons against others. */
  | {
      type: 'adopted';
      scenes: number;
      pictures: number;
      /** Number of clips among them. Absent if none. */
      clips?: number;
      byName: number;
      unused: number;
      examples: string[];
    }
  /** Number of attempts of crashed runs that may have been sent without an answer, and of jobs still in flight. */
  | { type: 'recovered'; unanswered: number; inFlight: number }
  | { type: 'scene-submitted'; scene: string; attempt: number; jobId: string }
  | { type: 'job-status'; scene: string; jobId: string; status: string }
  | ({
      type: 'scene-saved';
      attempt: number;
      jobId: string;
      files: string[];
      seed?: string;
      /** Time as reported by the service. */
      executionTimeMs?: number;
      cost?: Cost;
    } & SceneName)
  | ({
      type: 'attempt-failed';
      attempt: number;
      jobId?: string;
      kind: FailureKind;
      text: string;
      /** `waiting` means that there will be another attempt at `dueAt`, in epoch ms. */
      next: 'failed' | 'waiting';
      dueAt?: number;
      executionTimeMs?: number;
      /** Cost of the batch so far, if `pricing` is set. */
      cost?: Cost;
    } & SceneName)
  /** The result of a job cannot be used with the current settings. Its attempt stays in flight. */
  | ({
      type: 'result-held';
      jobId: string;
      kind: FailureKind;
      text: string;
      /** The setting to be changed, in words. */
      setting: string;
    } & SceneName)
  /** A request got no useful answer and will be sent again. Attempt and scene are unchanged. */
  | ({ type: 'request-troubled'; kind: FailureKind; text: string; waitMs: number } & SceneName)
  /** The service refuses key, account or endpoint that worked in this run. Submissions wait. */
  | { type: 'access-refused'; kind: FailureKind; text: string; waitMs: number }
  /** The service grants access again, this long after the first refusal. */
  | { type: 'access-regained'; afterMs: number }
  /** Workers and jobs of the endpoint, emitted at intervals if the service reports them. */
  | ({ type: 'service-health' } & ServiceHealth)
  | { type: 'stopping'; ending: EndingKind; text: string }
  /** Statistics of the run, emitted on request. */
  | ({ type: 'run-stats' } & RunStats)
  | {
      type: 'run-ended';
      ending: EndingKind;
      exitCode: number;
      text: string;
      /** True if the checkpoint is lost, so the same command cannot simply resume. */
      isLost?: true;
      counts: SceneCounts;
      /** Present as in `plan-made`. */
      part?: SceneCounts;
      /** Sentence about a bias in how the pictures were chosen. */
      bias?: string;
      pictures?: PictureTotals;
      outputDir: string;
      report: string | undefined;
      /** Cost of the batch so far, if the price is known. */
      cost: Cost | undefined;
      /** Submissions with unknown outcome that may have been billed: unanswered and expired. */
      untold: number;
      /** Advice for the next run. Absent if there is none. */
      moreJobs?: MoreJobs;
      /** Results that wait for a setting. Absent if there are none. */
      held?: HeldResults[];
      /** Number of paid jobs of this run whose results are lost. Absent if there are none. */
      lostResults?: number;
      /** Number of saved pictures that are missing or have another size. Absent if there are none. */
      missingPictures?: number;
    };

export type RunEnded = Event & { type: 'run-ended' };
