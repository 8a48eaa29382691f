/** Rules that turn rows into scenes. A batch keeps its rules, because others would make new scenes of paid rows. */

export interface SceneRules {
  /** Seeds are below 2 to the power of this number: many renderers read a seed as a signed 32-bit integer. */
  seedBits: 31 | 32;
  /** Source of the seeds. With `row`, a row has the same seeds for every value of every axis. */
  seedsOf: 'scene' | 'row';
  /** True if white space at the ends of lines in a .txt file is removed. */
  trimsLines: boolean;
  /**
   * True if lists may have the format of spreadsheet programs: semicolons or tabs, and empty values beyond
   * the header.
   */
  readsSpreadsheets: boolean;
  /** True if a column `ID`, `Id` or the like is the id column when none is called `id`. */
  findsIds: boolean;
  /** True if a list of which nothing is sent is rejected, even if bad rows are skipped. */
  asksForPrompt: boolean;
  /**
   * True if a list with columns `scene` and `prompt` is rejected until `input` says which is sent. Otherwise
   * `scene` is sent.
   */
  asksWhichIsSent: boolean;
  /** True if rows of several lists get a column `source` with the name of their list. */
  addsSource: boolean;
}

const before4 = {
  readsSpreadsheets: false,
  findsIds: false,
  asksForPrompt: false,
  asksWhichIsSent: false,
  addsSource: false,
};

/** Rules by version. A change of a rule makes a new version. */
export const sceneRules = {
  1: { seedBits: 32, seedsOf: 'scene', trimsLines: false, ...before4 },
  2: { seedBits: 31, seedsOf: 'scene', trimsLines: false, ...before4 },
  3: { seedBits: 31, seedsOf: 'row', trimsLines: true, ...before4 },
  4: {
    seedBits: 31,
    seedsOf: 'row',
    trimsLines: true,
    readsSpreadsheets: true,
    findsIds: true,
    asksForPrompt: true,
    asksWhichIsSent: true,
    addsSource: true,
  },
} as const satisfies Record<number, SceneRules>;

export type RulesVersion = keyof typeof sceneRules;

/** Version for new batches. */
export const newestRules = 4 satisfies RulesVersion;

/** Version for files of earlier releases, which did not record a version. */
export const unsaidRules = 2 satisfies RulesVersion;

/** Reads the version from a file. Undefined if a newer release wrote the file. */
export function readRulesVersion(value: unknown): RulesVersion | undefined {
  if (value === undefined) return unsaidRules;
  return typeof value === 'number' && value in sceneRules ? (value as RulesVersion) : undefined;
}
