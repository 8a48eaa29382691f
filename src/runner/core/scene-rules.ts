/** How rows become scenes: rules that a batch keeps from its first run on, since others would make other scenes of rows that are paid for. */

export interface SceneRules {
  /** Seeds are below 2 to the power of this: many renderers read a seed as a signed integer of 32 bits. */
  seedBits: 31 | 32;
  /** What seeds are made from: with `row`, those of a row are the same for every value of every axis. */
  seedsOf: 'scene' | 'row';
  /** Whether lines of a .txt lose white space at their ends. */
  trimsLines: boolean;
  /** True if lists are read as spreadsheet programs write them: with semicolons or tabs, and empty values beyond the header. */
  readsSpreadsheets: boolean;
  /** True if a column called `ID`, `Id` or the like is the id, if none is called `id`. */
  findsIds: boolean;
  /** True if a list without anything that is sent is refused, also if bad rows are skipped. */
  asksForPrompt: boolean;
  /** True if a list with a column `scene` and a column `prompt` is refused until `input` says which is sent; else `scene` is. */
  asksWhichIsSent: boolean;
  /** True if rows of several lists have a column `source`, the list that they come from. */
  addsSource: boolean;
}

const before4 = {
  readsSpreadsheets: false,
  findsIds: false,
  asksForPrompt: false,
  asksWhichIsSent: false,
  addsSource: false,
};

/** A change of them is a version of its own. */
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

/** Of a batch that begins. */
export const newestRules = 4 satisfies RulesVersion;

/** Of what earlier versions wrote, which did not say it. */
export const unsaidRules = 2 satisfies RulesVersion;

/** Out of a file; undefined where a newer version wrote it. */
export function readRulesVersion(value: unknown): RulesVersion | undefined {
  if (value === undefined) return unsaidRules;
  return typeof value === 'number' && value in sceneRules ? (value as RulesVersion) : undefined;
}
