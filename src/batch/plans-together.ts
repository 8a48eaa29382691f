/** Several plans in one answer: their sum, and the scenes that a stage may get from the batch before it. */
import { plural } from '../lib/text/format.ts';
import { realPath } from '../lib/files/real-path.ts';
import type { Config } from '../runner/config/config.ts';
import { scenesPerRow } from '../runner/core/expansion.ts';
import type { Forecast } from '../runner/core/forecast.ts';
import type { Plan } from '../runner/core/plan.ts';
import type { SceneCounts } from '../runner/core/scene.ts';
import { newestRules, sceneRules } from '../runner/core/scene-rules.ts';
import { formatCost } from '../runner/core/spending.ts';

import { readExpansion } from '../runner/list/read-expansion.ts';

interface Planned {
  /** Path of pipeline.yaml as given. */
  file: string;
  counts: SceneCounts;
  changes: Pick<Plan, 'heldSeeds'>;
  forecast: Pick<Forecast, 'scenes' | 'cost'>;
  /** Maximum number of additional scenes, once earlier batches have their pictures. */
  upTo: number;
}

export class PlansTogether {
  readonly #plans: Pick<Planned, 'forecast' | 'upTo'>[] = [];
  /** Keyed by absolute path. */
  readonly #left = new Map<string, { scenes: number; hasPictures: boolean }>();

  get count(): number {
    return this.#plans.length;
  }

  add({ file, counts, changes, forecast, upTo }: Planned): void {
    const { waiting, active, saved } = counts;
    const more = upTo + (changes.heldSeeds ?? 0);
    this.#plans.push({ forecast, upTo: more });
    this.#left.set(realPath(file), { scenes: waiting + active + more, hasPictures: saved > 0 });
  }

  /** Adds a stage of a batch that has no pictures yet. */
  addUnread({ file }: Config, upTo: number): void {
    this.#plans.push({ forecast: { scenes: 0, cost: null }, upTo });
    this.#left.set(realPath(file), { scenes: upTo, hasPictures: false });
  }

  /** Returns the additional scenes of a stage of an added batch. Undefined for any other batch. */
  async comingTo(
    config: Config,
    signal: AbortSignal,
  ): Promise<{ upTo: number; isUnread: boolean } | undefined> {
    const before = config.stage && this.#left.get(realPath(config.stage.from));
    if (before === undefined) return undefined;
    const { expansion } = await readExpansion(config, sceneRules[newestRules], signal);
    const perRow = expansion === undefined ? 1 : scenesPerRow(expansion);
    return { upTo: before.scenes * perRow, isUnread: !before.hasPictures };
  }

  /** Describes what the runs would submit. Includes the price if all have one in the same currency. */
  sum(): string {
    const all = this.#plans.map(({ forecast }) => forecast).filter(({ scenes }) => scenes > 0);
    const scenes = all.reduce((sum, forecast) => sum + forecast.scenes, 0);
    const [currency, ...others] = new Set(all.map(({ cost }) => cost?.currency));
    const isPriced = currency !== undefined && others.length === 0;
    const spent = all.reduce((sum, { cost }) => sum + (cost?.amount ?? 0), 0);
    const price = isPriced ? `, for about ${formatCost({ spent, currency })}` : '';
    const upTo = this.#plans.reduce((sum, each) => sum + each.upTo, 0);
    const more = upTo === 0 ? '' : `; up to ${plural(upTo, 'scene')} more, as pictures come in`;
    return `Together they would submit ${plural(scenes, 'scene')}${price}${more}.`;
  }
}

/** Describes the additional scenes of a stage, next to its plan or instead of it. */
export function comingText(from: string, upTo: number): string {
  return `up to ${plural(upTo, 'scene')} once ${from} has their pictures`;
}
