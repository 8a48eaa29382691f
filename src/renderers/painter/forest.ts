/** A forest: rows of trees that step back into the haze, and a few great ones at the sides. */
import { ellipse, placed, type Circle, type Point } from './drawing.ts';
import { newMention } from './mentions.ts';
import { lookOf, type Stage } from './stage.ts';
import { isInRiver, type Terrain } from './terrain.ts';
import { type DrawThing } from './things/look.ts';
import { drawFarPine, drawFarTree, plants } from './things/plants.ts';

export function paintForest(stage: Stage, terrain: Terrain): { far: string; near: string } {
  const mention = stage.mention('forest');
  if (mention === undefined || stage.setting.ground === 'sea') return { far: '', near: '' };
  const shore = terrain.water === undefined ? undefined : terrain.water.top - stage.horizon;
  const rows =
    shore === undefined ? [0.02, 0.1, 0.24] : [0.02, shore / (stage.height - stage.horizon) - 0.03];
  const far = rows.map((depth) => row(stage, terrain, depth)).join('');
  return { far, near: frame(stage) };
}

function row(stage: Stage, terrain: Terrain, depth: number): string {
  const random = stage.random.fork(`forest ${depth}`);
  const { horizon, height, width } = stage;
  const scale = 0.36 + depth * 1.5;
  const step = 40 * scale;
  const trees: string[] = [];
  for (let x = -step; x < width + step; x += step * random.between(0.55, 1.15)) {
    const y = horizon + 9 + (height - horizon) * depth + random.between(-3, 5) * (1 + depth * 6);
    if (depth > 0.2 && Math.abs(x - width * 0.5) < width * 0.2) continue;
    if (isInRiver(terrain, { x, y, scale, depth }, 20 * scale)) continue;
    const own = scale * random.between(0.75, 1.2);
    trees.push(tree(stage, `${depth} ${trees.length}`, [x, y], own, depth * 2.2 + 0.16));
  }
  return trees.join('');
}

function frame(stage: Stage): string {
  const { width, height } = stage;
  const random = stage.random.fork('frame');
  const spot = (side: number, out: number, low: number, scale: number): Circle => {
    const x = width * (0.5 + side * random.between(out, out + 0.07));
    return [x, height * random.between(low, low + 0.06), scale * random.between(0.9, 1.12)];
  };
  return [-1, 1]
    .flatMap((side) => [spot(side, 0.44, 0.94, 2.1), spot(side, 0.3, 0.82, 1.25)])
    .toSorted((one, other) => one[1] - other[1])
    .map(([x, y, scale], index) => tree(stage, `frame ${index}`, [x, y], scale, 0.9))
    .join('');
}

function tree(stage: Stage, name: string, at: Point, scale: number, depth: number): string {
  const wood = stage.mention('forest') ?? newMention('forest');
  const trees = stage.mention('pine') ?? stage.mention('tree');
  const said = wood.colours.length === 0 && trees !== undefined ? { ...trees, count: 1 } : wood;
  const look = lookOf(stage, stage.random.fork(`tree ${name}`), said, 0, depth);
  const shade = stage.drawing.radial([0, [16, 20, 40], 0.4], [1, [16, 20, 40], 0]);
  const drawn = drawerOf(stage, scale < 0.7)(look);
  return ellipse(at, 34 * scale, 5 * scale, shade) + placed(drawn, at, scale);
}

function drawerOf(stage: Stage, isFar: boolean): DrawThing {
  const pine = isFar ? drawFarPine : plants.pine.draw;
  const broad = isFar ? drawFarTree : plants.tree.draw;
  const { description } = stage.setting;
  if (stage.says('pine')) return pine;
  if (stage.says('palm')) return plants.palm.draw;
  if (stage.says('tree', 'oak') || description.season !== null) return broad;
  return stage.random.fork('wood').chance(0.7) ? pine : broad;
}
