/** A street that leads away from the camera: houses on both sides, pavements and lamps; pure. */
import { createRandom, type Random } from '../../random.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { box, paintOf, type Part } from '../things/parts.ts';
import { times, type Vector } from '../vector.ts';

/** Around its middle; the road runs along z, and `x` is to its right. */
interface Block {
  at: Vector;
  size: Vector;
  colour: string;
}

interface Blocks {
  walls: Block[];
  roofs: Block[];
  lights: Block[];
}

const pavement = 1.3;
const [begin, end] = [5, -46];

export function streetOf({ box: room, view: { facing }, daylight, seed }: PicturePlan): Part[] {
  const half = Math.max(2.3, room.high[0] + 0.9, 0.9 - room.low[0]);
  const isDark = daylight.stars > 0 || Math.max(...daylight.sun) < 1.2;
  const { walls, roofs, lights } = blocksOf(half, isDark, createRandom(`street ${seed}`));
  const [cos, sin] = [Math.cos(facing), Math.sin(facing)];
  const place = ([x, y, z]: Vector): Vector => [x * cos + z * sin, y, z * cos - x * sin];
  const turn: Vector = [0, facing, 0];
  const block = ({ at, size, colour }: Block, material: string): Part =>
    box(place(at), size, `${colour} ${material}`, 0, turn);
  const roof = ({ at, size: [wide, high, long], colour }: Block): Part => ({
    shape: {
      kind: 'slab',
      outline: [
        [-wide * 0.9, -high / 2],
        [wide * 0.9, -high / 2],
        [0, high / 2],
      ],
      depth: long,
    },
    at: place(at),
    turn,
    paint: paintOf(colour),
  });
  return [
    ...walls.map((wall) => block(wall, 'matt')),
    ...roofs.map(roof),
    ...lights.map((light) => block(light, 'glow')),
  ];
}

function blocksOf(half: number, isDark: boolean, random: Random): Blocks {
  const blocks: Blocks = { walls: [], roofs: [], lights: [] };
  for (const side of [-1, 1] as const) {
    const paving: Vector = [side * (half + pavement / 2), 0.05, (begin + end) / 2];
    blocks.walls.push({ at: paving, size: [pavement, 0.1, begin - end], colour: '#a5a29b' });
    let z = begin;
    while (z > end) {
      const wide = random.between(2.4, 3.8);
      addHouse(blocks, side, half + pavement, z - wide / 2, wide, isDark, random);
      z -= wide + 0.04;
    }
    for (let at = side === 1 ? 1 : -2.5; at > end; at -= 7) addLamp(blocks, side * (half + 0.25), at, isDark);
  }
  return blocks;
}

const plasters = [
  '#c98f62',
  '#d9c7a3',
  '#b4644c',
  '#93a3a0',
  '#cfae6e',
  '#e3dccb',
  '#8d7468',
  '#a9b48f',
] as const;
const tiles = ['#7b4436', '#5b4b48', '#4c5560', '#8a5340'] as const;

function addHouse(
  { walls, roofs, lights }: Blocks,
  side: -1 | 1,
  edge: number,
  z: number,
  wide: number,
  isDark: boolean,
  random: Random,
): void {
  const [floors, deep] = [random.whole(2, 3), 3];
  const high = 0.5 + floors * 1.25;
  const colour = random.pick(plasters);
  walls.push({ at: [side * (edge + deep / 2), high / 2, z], size: [deep, high, wide], colour });
  walls.push({ at: [side * (edge + deep / 2), high, z], size: [deep + 0.24, 0.1, wide], colour: '#e8e0d0' });
  roofs.push({
    at: [side * (edge + deep / 2), high + 0.4, z],
    size: [deep * 0.62, 0.8, wide],
    colour: random.pick(tiles),
  });
  const columns = Math.round(wide / 1.05);
  const door = random.whole(0, columns - 1);
  for (let floor = 0; floor < floors; floor += 1) {
    for (let column = 0; column < columns; column += 1) {
      const along = z + ((column + 0.5) / columns - 0.5) * wide;
      const isDoor = floor === 0 && column === door;
      const [tall, y] = isDoor ? [1, 0.6] : [0.72, 0.95 + floor * 1.25];
      const pane: Vector = [0.08, tall, 0.46];
      walls.push({ at: [side * edge, y, along], size: [0.05, tall + 0.12, 0.58], colour: '#efe9db' });
      const isLit = isDark && !isDoor && random.chance(0.45);
      (isLit ? lights : walls).push({
        at: [side * edge, y, along],
        size: pane,
        colour: isDoor ? random.pick(['#5a3a26', '#2f4a42', '#6f2a28']) : isLit ? '#ffd08a' : '#2f3d49',
      });
    }
  }
}

function addLamp({ walls, lights }: Blocks, x: number, z: number, isDark: boolean): void {
  walls.push({ at: [x, 1.2, z], size: [0.07, 2.4, 0.07], colour: '#2b2e33' });
  walls.push({ at: [x, 2.74, z], size: [0.3, 0.06, 0.3], colour: '#2b2e33' });
  (isDark ? lights : walls).push({ at: [x, 2.55, z], size: times([1, 1.5, 1], 0.2), colour: '#fff0cc' });
}
