/** What a manifest asks for beside what the checkpoint holds: the answer to "what is left to do". */
import type { ServiceHealth } from './service-health.ts';
import type { EndingKind } from './ending.ts';
import type { Forecast } from './forecast.ts';
import type { JsonObject } from './json.ts';
import type { SceneCounts } from './scene.ts';

export interface Plan {
  /** Rows whose id the batch has not seen before. */
  added: number;
  /** Rows whose input was edited: rendered again, the old picture kept. */
  changed: number;
  /** Rows that the batch knows with this very input. */
  unchanged: number;
  /** Scenes that are no longer in the manifest, since this run. */
  withdrawn: number;
}

/** What the next run of a batch would do, for people who are to decide whether it shall. */
export interface BatchPlan {
  /** Whether a run holds the batch at this moment. */
  isRunning: boolean;
  changes: Plan;
  /** When the manifest has been compared. */
  counts: SceneCounts;
  /** Of the scenes of the part that was asked for; null where it was all. */
  part: SceneCounts | null;
  setAside: SetAside;
  requests: FirstRequest[];
  forecast: Forecast;
  /** What should be known of the folder, in words; null where there is nothing. */
  warning: string | null;
}

/** What a run does not render by itself, and what is not over. */
export interface SetAside {
  /** Jobs at the service, which are collected first. */
  inFlight: number;
  /** Submissions that were begun, of which nobody knows whether they were sent. */
  intended: number;
  /** Failed scenes by kind, most frequent first. */
  failed: { kind: string; scenes: number }[];
  /** The first of the rows that are skipped. */
  badRows: { source: string; problem: string }[];
}

/** As it would be sent. */
export interface FirstRequest {
  scene: string;
  /** 1 for the scene's first submission. */
  attempt: number;
  method: 'POST';
  /** Begins with `local` where the address is made up at the start of a run. */
  url: string;
  body: { input: JsonObject };
  /** Of its first picture, within the folder of pictures. */
  file: string;
  /** The name that is another scene's already, so that `file` is another one; null where it is free. */
  taken: string | null;
}

/** What the service said to a question that starts nothing. */
export interface EndpointCheck {
  /** How a run would end by that: `complete` where nothing speaks against it. */
  ending: EndingKind;
  /** One sentence. */
  text: string;
  /** By state, in the service's words. */
  workers?: ServiceHealth['workers'];
}
