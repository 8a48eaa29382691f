/** What a manifest asks for compared with the checkpoint: the answer to "what is left to do". */
import { endpointAddress, type Endpoint } from './attempt.ts';
import type { ServiceHealth } from './service-health.ts';
import type { EndingKind } from './ending.ts';
import type { Forecast } from './forecast.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { SceneCounts } from './scene.ts';
import { formatCost } from './spending.ts';

export interface Plan {
  /** Rows whose id the batch has not seen before. */
  added: number;
  /** Rows whose input was edited: rendered again, the old picture kept. */
  changed: number;
  /** Rows that the batch knows with this very input. */
  unchanged: number;
  /** Scenes that are no longer in the manifest, since this run. */
  withdrawn: number;
  /** Absent where there are none. */
  repeated?: RepeatedRows;
  /** Seeds that are sent only where those before them fall short, which is yet open; as above. */
  heldSeeds?: number;
}

/** Rows that add to the input what another row of the list does. */
export interface RepeatedRows {
  rows: number;
  /** Whether they are left out (`skipRepeatedRows`). */
  isSkipped: boolean;
}

/**
 * True if a list seems to be cut off: more than a third of its scenes are gone, and none is new. A row that was edited
 * under its id is not new, unless more rows were edited than stayed: then the list was replaced by another one.
 * `before`: number of scenes that the list had. `isOneEdited` is asked if scenes are new: true if they are one edited row.
 */
export function isCutOff(plan: Plan, before: number, isOneEdited: () => boolean): boolean {
  const { added, changed, unchanged, withdrawn } = plan;
  if (withdrawn * 3 <= before) return false;
  const returned = Math.max(unchanged + changed + withdrawn - before, 0);
  const came = added + returned + (changed > unchanged ? changed : 0);
  return came === 0 || (returned === 0 && isOneEdited());
}

/** Saved scenes that an edit of the pipeline file or of the columns renders again. */
export interface Edits {
  /** Number of scenes to be rendered again. */
  scenes: number;
  /** Number of scenes that are saved. */
  saved: number;
  /** Price of rendering these scenes again; null if it is unknown. */
  cost: { amount: number; currency: string } | null;
}

/** Returns a sentence without its full stop. */
export function describeEdits({ scenes, saved, cost }: Edits): string {
  const price =
    cost === null
      ? 'at an unknown price'
      : `for about ${formatCost({ spent: cost.amount, currency: cost.currency })}`;
  return `${scenes.toLocaleString('en')} of ${saved.toLocaleString('en')} saved scenes are to be rendered again, ${price}, because the template, the matrix or the columns changed`;
}

/** Thrown if a person has to decide before the batch is changed or anything is sent. */
export class PlanRefused extends Error {}

/** Thrown before anything has changed, unless the edit is accepted. */
export class EditsRefused extends PlanRefused {
  constructor(edits: Edits) {
    super(
      `${describeEdits(edits)}. Nothing was sent, and the batch is as it was. If the edit is meant, add --accept-edits, or acceptEdits: always to pipeline.yaml; the old pictures stay. \`nightrender plan <pipeline> --accept-edits\` shows what would be sent. If it is not meant, undo the edit and start the same command again.`,
    );
  }
}

/** Thrown before anything has changed, unless it was said that the list may be shorter. */
export class ListCutOff extends PlanRefused {
  /** `first`: the first scene that went, and where its row stood. */
  constructor({ withdrawn }: Plan, before: number, first: { id: string; source: string } | undefined) {
    const which = first === undefined ? '' : ` (the first is ${first.id}, which was at ${first.source})`;
    const gone = `${withdrawn.toLocaleString('en')} of ${before.toLocaleString('en')} scenes are no longer in the list${which}, and none is new`;
    super(
      `${gone}. Nothing was sent, and the batch is as it was; pictures stay. If the list was cut off, restore it and start the same command again. If it is meant to be shorter, add --allow-fewer, or allowFewer: true to pipeline.yaml.`,
    );
  }
}

/** Thrown before anything is sent, unless it was said what is to become of them. */
export class UnknownPictures extends PlanRefused {
  /** `example`: one of them, as the folder of pictures has it. */
  constructor(count: number, example: string) {
    const [have, them] =
      count === 1
        ? ['1 scene that waits has', 'it']
        : [`${count.toLocaleString('en')} scenes that wait have`, 'them'];
    super(
      `${have} a picture in the folder that the checkpoint does not know (${example}); to render ${them} again would pay for ${them} again. Nothing was sent. Take over what fits, each checked: \`nightrender run <pipeline> --adopt\`; or render ${them} again and keep what is there as .former: \`nightrender run <pipeline> --fresh\`.`,
    );
  }
}

/** How many saved scenes have their pictures from there. */
export interface MadeAt {
  endpoint: Endpoint;
  scenes: number;
}

/** What should be known where the rest of a batch goes to another endpoint; undefined where it does not. */
export function endpointChange(
  made: readonly MadeAt[],
  { waiting, active, saved, failed }: SceneCounts,
  endpoint: Endpoint,
): string | undefined {
  const next = endpointAddress(endpoint);
  const others = made.filter((each) => endpointAddress(each.endpoint) !== next);
  if (others.length === 0 || waiting === 0) return undefined;
  const shown = (count: number): string => count.toLocaleString('en');
  const all = `${shown(waiting + active + saved + failed)} scenes`;
  const where = others.map(
    (each) => `${shown(each.scenes)} of ${all} were made at ${endpointAddress(each.endpoint)}`,
  );
  const rest = waiting === 1 ? 'the one that waits goes' : `the ${shown(waiting)} that wait go`;
  return `the endpoint has changed: ${where.join(', ')}; ${rest} to ${next}`;
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
  /** Where more seeds may turn out to be needed: the scenes if all are, and what they cost; that is null where it is unknown. */
  atMost: { scenes: number; cost: number | null } | null;
  /** Path of the newest picture that was found as the only one of an output of no known shape; null where there is none. */
  foundAt: string | null;
  /** Which files saved scenes lack, in words; null where none does. */
  lacking: string | null;
  /** What should be known of the list, in sentences. */
  notes: string[];
  /** What `plan` says of the list, in sentences; a run does not say it. */
  remarks: string[];
  /** What should be known of the folder, in words; null where there is nothing. */
  warning: string | null;
}

/** What a run does not render by itself, and what is not over. */
export interface SetAside {
  /** Jobs at the service, which are collected first. */
  inFlight: number;
  /** Submissions that were begun, that may have been sent. */
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
  /** Submissions of the scene that came before and may have been paid: one that was refused is none. */
  before: number;
  method: string;
  /** Begins with `local` where the address is made up at the start of a run. */
  url: string;
  body: JsonValue;
  /** Of its first picture, within the folder of pictures. */
  file: string;
  /** The name that is another scene's already, so that `file` is another one; null where it is free. */
  taken: string | null;
}

/** What the service said to a question that starts nothing. */
export interface EndpointCheck {
  /** How a run would end by that: `complete` unless something prevents it. */
  ending: EndingKind;
  /** One sentence. */
  text: string;
  /** By state, in the service's words. */
  workers?: ServiceHealth['workers'];
  /** Where a run looks in the answers of a service that is described, each a line. */
  reads?: string[];
}
