/** What shines in the dark: lamps and lit windows among the things and in a street. */
import type { Piece } from '../around/backdrops.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { boundsOf, sizeOf } from '../things/bounds.ts';
import { windowPane } from '../things/buildings.ts';
import { paintOf, type Part } from '../things/parts.ts';
import { lengthOf, minus, plus } from '../vector.ts';
import { placementOf, turned } from './build.ts';
import { snap, snapped } from '../exact.ts';
import type { Lamp } from './light.ts';

export function isDark({ daylight }: PicturePlan): boolean {
  return !daylight.isStudio && (daylight.stars > 0 || Math.max(...daylight.sun) < 1.1);
}

/** The same with its windows lit where it is dark. */
export function withLitWindows(plan: PicturePlan): PicturePlan {
  if (!isDark(plan)) return plan;
  const things = plan.things.map((thing) => ({
    ...thing,
    parts: thing.parts.map((part) => (isPane(part) ? { ...part, paint: litPane } : part)),
  }));
  return { ...plan, things };
}

const [pane, litPane] = [paintOf(windowPane), paintOf('#ffc878 glow')];

function isPane({ paint }: Part): boolean {
  return (
    paint.material === pane.material && paint.colour.every((value, index) => value === pane.colour[index])
  );
}

/** The largest of the things' lamps, then the nearest of the street's. */
export function lampsOf(plan: PicturePlan, around: readonly Piece[]): Lamp[] {
  if (!isDark(plan) || plan.setting.ground === 'space') return [];
  const own = plan.things.flatMap((thing) => {
    const place = placementOf(thing);
    return thing.parts.filter(isGlowing).map((part): Lamp => {
      const size = Math.max(...sizeOf(boundsOf([part]))) * place.scale;
      return {
        at: plus(turned(place.rows, snapped(part.at)), place.at),
        size: snap(size),
        power: snap(size) * 1.6,
        colour: part.paint.colour,
      };
    });
  });
  const away = ({ at }: { at: Lamp['at'] }): number => lengthOf(minus(at, plan.view.from));
  const street = around
    .flatMap(({ name, parts }) => (name === 'street' ? parts : []))
    .filter((part) => isGlowing(part) && part.shape.kind === 'box' && part.shape.size[0] === lanternSize)
    .map(({ at, paint }): Lamp => ({ at: snapped(at), size: 0.42, power: 3.2, colour: paint.colour }));
  return [
    ...own.toSorted((one, other) => other.size - one.size),
    ...street.toSorted((one, other) => away(one) - away(other)),
  ].slice(0, maxLamps);
}

function isGlowing({ paint }: { paint: { material: string } }): boolean {
  return paint.material === 'glow';
}

const lanternSize = 0.2;
const maxLamps = 8;
