/** Compares the manifest with the checkpoint to answer "what is left to do". */
import { endpointAddress, type Endpoint } from './attempt.ts';
import type { ServiceHealth } from './service-description.ts';
import type { EndingKind } from './ending.ts';
import type { Forecast } from './forecast.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { SceneCounts } from './scene.ts';
import { formatCost, type UnitPrice } from './spending.ts';

export interface Plan {
  /** Rows with an id that is new to the batch. */
  added: number;
  /** Rows whose input was edited. They are rendered again, and the old files stay. */
  changed: number;
  /** Rows whose id and input the batch already knows. */
  unchanged: number;
  /** Scenes that the latest comparison found to be no longer in the manifest. */
  withdrawn: number;
  repeated?: RepeatedRows;
  /** Seeds that are sent only if earlier seeds fall short, which is not known yet. Absent if there are none. */
  heldSeeds?: number;
}

export interface RepeatedRows {
  rows: number;
  isSkipped: boolean;
}

/**
 * True if a list seems truncated: more than a third of its scenes are gone and none is new. A row that was
 * edited under its id is not new, unless more rows were edited than unchanged, because then another list
 * replaced this one. `before` is the number of scenes that the list had. `isOneEdited` is called only if
 * scenes are new, and returns true if these are one edited row.
 */
export function isCutOff(plan: Plan, before: number, isOneEdited: () => boolean): boolean {
  const { added, changed, unchanged, withdrawn } = plan;
  if (withdrawn * 3 <= before) return false;
  const returned = Math.max(unchanged + changed + withdrawn - before, 0);
  const came = added + returned + (changed > unchanged ? changed : 0);
  return came === 0 || (returned === 0 && isOneEdited());
}

/** Saved scenes that will be rendered again because the pipeline file or the columns were edited. */
export interface Edits {
  scenes: number;
  saved: number;
  /** Price of rendering these scenes again. Null if it is unknown. */
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

/** Thrown if a user has to decide before the batch is changed or anything is sent. */
export class PlanRefused extends Error {}

/** Thrown before anything is changed, unless the edit is accepted. */
export class EditsRefused extends PlanRefused {
  constructor(edits: Edits) {
    super(
      `${describeEdits(edits)}. Nothing was sent, and the batch is as it was. If the edit is meant, add --accept-edits, or acceptEdits: always to pipeline.yaml; the old files stay. \`nightrender plan <pipeline> --accept-edits\` shows what would be sent. If it is not meant, undo the edit and start the same command again.`,
    );
  }
}

/** Thrown before anything is changed, unless the user has allowed a shorter list. */
export class ListCutOff extends PlanRefused {
  /** `first` is the first scene that is gone, with the former position of its row. */
  constructor({ withdrawn }: Plan, before: number, first: { id: string; source: string } | undefined) {
    const which = first === undefined ? '' : ` (the first is ${first.id}, which was at ${first.source})`;
    const gone = `${withdrawn.toLocaleString('en')} of ${before.toLocaleString('en')} scenes are no longer in the list${which}, and none is new`;
    super(
      `${gone}. Nothing was sent, and the batch is as it was; saved files stay. If the list was cut off, restore it and start the same command again. If it is meant to be shorter, add --allow-fewer, or allowFewer: true to pipeline.yaml.`,
    );
  }
}

/** Thrown before anything is sent, unless the user has said how to treat these pictures. */
export class UnknownPictures extends PlanRefused {
  /** `example` is the path of one of these pictures in the images folder. */
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

/** Number of saved scenes whose pictures were made at an endpoint. */
export interface MadeAt {
  endpoint: Endpoint;
  scenes: number;
}

/** Returns a note if the rest of a batch goes to another endpoint than before, otherwise undefined. */
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
  const rest = waiting === 1 ? 'the waiting scene goes' : `the ${shown(waiting)} that wait go`;
  return `the endpoint has changed: ${where.join(', ')}; ${rest} to ${next}`;
}

/** Describes what the next run of a batch would do, for a user who decides whether to start it. */
export interface BatchPlan {
  isRunning: boolean;
  changes: Plan;
  /** Scenes by state after the comparison with the manifest. */
  counts: SceneCounts;
  /** Scenes of the requested part by state. Null if the whole batch was requested. */
  part: SceneCounts | null;
  setAside: SetAside;
  requests: FirstRequest[];
  forecast: Forecast;
  /** Number of scenes if all held seeds are needed, and their cost. The cost is null if it is unknown. */
  atMost: { scenes: number; cost: number | null } | null;
  /** Path of the latest picture that was found in an output of unknown shape. Null if there is none. */
  foundAt: string | null;
  /** Note about files that saved scenes lack. Null if none is lacking. */
  lacking: string | null;
  /** Note about saved pictures that would get another name now. Null if there are none. */
  misnamed: string | null;
  notes: string[];
  /** Further notes about the list, which only `plan` prints. */
  remarks: string[];
  /** Warning about the folder. Null if there is none. */
  warning: string | null;
}

export interface SetAside {
  /** Jobs at the service, which a run collects first. */
  inFlight: number;
  /** Submissions that were begun and may have been sent. */
  intended: number;
  /** Failed scenes by kind, most frequent first. */
  failed: { kind: string; scenes: number }[];
  badRows: { source: string; problem: string }[];
}

export interface FirstRequest {
  scene: string;
  /** 1 for the scene's first submission. */
  attempt: number;
  /** Number of earlier submissions that may have been billed. Refused submissions do not count. */
  before: number;
  method: string;
  /** Begins with `local` if the address is chosen when a run starts. */
  url: string;
  body: JsonValue;
  file: string;
  /** Preferred name of the picture if another scene already has it. Null if the name is free. */
  taken: string | null;
}

/** Reply of the service to a request that starts no job. */
export interface EndpointCheck {
  ending: EndingKind;
  text: string;
  /** Number of workers by the service's name for their state. */
  workers?: ServiceHealth['workers'];
  /** Paths that a run reads in the answers of a described service, one per line. */
  reads?: string[];
  price?: UnitPrice;
  /** Says that `pricing` differs from `price`. */
  warning?: string;
}
