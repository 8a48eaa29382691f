/** A street that leads away from the camera: houses on both sides, pavements and lamps; pure. */
import { createRandom, type Random } from '../../random.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { box, slab, type Part } from '../things/parts.ts';
import { both } from '../things/placing.ts';
import type { Vector } from '../vector.ts';

const pavement = 1.3;
const [begin, end] = [5, -46];
const plasters = '#c98f62 #d9c7a3 #b4644c #93a3a0 #cfae6e #e3dccb #8d7468 #a9b48f'.split(' ');
const tiles = '#7b4436 #5b4b48 #4c5560 #8a5340'.split(' ');
const doors = '#5a3a26 #2f4a42 #6f2a28'.split(' ');

/** Around its middle; the road runs along z, and x is to its right. */
export function streetOf({ box: room, view: { facing }, daylight, seed }: PicturePlan): Part[] {
  const half = Math.max(2.3, room.high[0] + 0.9, 0.9 - room.low[0]);
  const isDark = daylight.stars > 0 || Math.max(...daylight.sun) < 1.2;
  const random = createRandom(`street ${seed}`);
  const [cos, sin] = [Math.cos(facing), Math.sin(facing)];
  return both((side) => sideOf(side, half, isDark, random)).map((part) => {
    const [x, y, z] = part.at;
    return { ...part, at: [x * cos + z * sin, y, z * cos - x * sin], turn: [0, facing, 0] };
  });
}

function sideOf(side: -1 | 1, half: number, isDark: boolean, random: Random): Part[] {
  const paving: Vector = [side * (half + pavement / 2), 0.05, (begin + end) / 2];
  const parts = [box(paving, [pavement, 0.1, begin - end], '#a5a29b', 0)];
  for (let z = begin; z > end;) {
    const wide = random.between(2.4, 3.8);
    parts.push(...houseAt(side, half + pavement, z - wide / 2, wide, isDark, random));
    z -= wide + 0.04;
  }
  for (let z = side === 1 ? 1 : -2.5; z > end; z -= 7) parts.push(...lampAt(side * (half + 0.25), z, isDark));
  return parts;
}

function houseAt(
  side: -1 | 1,
  edge: number,
  z: number,
  wide: number,
  isDark: boolean,
  random: Random,
): Part[] {
  const [floors, deep] = [random.whole(2, 3), 3];
  const high = 0.5 + floors * 1.25;
  const [x, roof] = [side * (edge + deep / 2), deep * 0.56];
  const columns = Math.round(wide / 1.05);
  const door = random.whole(0, columns - 1);
  const openings = Array.from({ length: floors * columns }, (_, index) => {
    const [floor, column] = [Math.floor(index / columns), index % columns];
    const isDoor = index === door;
    const [tall, y] = isDoor ? [1, 0.6] : [0.72, 0.95 + floor * 1.25];
    const at: Vector = [side * edge, y, z + ((column + 0.5) / columns - 0.5) * wide];
    const window = isDark && random.chance(0.45) ? '#ffd08a glow' : '#2f3d49';
    return [
      box(at, [0.05, tall + 0.12, 0.58], '#efe9db', 0),
      box(at, [0.08, tall, 0.46], isDoor ? pickOf(doors, random) : window, 0),
    ];
  });
  return [
    box([x, high / 2, z], [deep, high, wide], pickOf(plasters, random), 0),
    box([x, high, z], [deep + 0.24, 0.1, wide], '#e8e0d0', 0),
    slab(`${-roof} 0, ${roof} 0, 0 0.8`, wide, pickOf(tiles, random), [x, high, z]),
    ...openings.flat(),
  ];
}

function pickOf(colours: readonly string[], random: Random): string {
  return colours[random.whole(0, colours.length - 1)] ?? '';
}

function lampAt(x: number, z: number, isDark: boolean): Part[] {
  return [
    box([x, 1.2, z], [0.07, 2.4, 0.07], '#2b2e33', 0),
    box([x, 2.74, z], [0.3, 0.06, 0.3], '#2b2e33', 0),
    box([x, 2.55, z], [0.2, 0.3, 0.2], `#fff0cc ${isDark ? 'glow' : 'matt'}`, 0),
  ];
}
