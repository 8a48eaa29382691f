/** What grows, and rocks. */
import { mix, rgb, rgbs, shade, type Colour } from '../../colour.ts';
import { circle, circles, dots, lines, path, stroke, type Circle, type Point } from '../drawing.ts';
import { land, ball, drawn, flat, petalsAround, round, tall, type Look } from './look.ts';

export const plants = {
  tree: land(44, [0.12, 0.62], 1.9, '', (look) => broadTree(look, 1, 132)),
  oak: land(74, [0.2, 0.5], 2.1, '', (look) => broadTree(look, 1.65, 142)),
  pine: land(34, [0.08, 0.6], 1.7, '', (look) => {
    const leaf = look.main ?? blend(look, '#2f6a4e #47785a');
    return [
      path('M-5 0L-3.5 -30H3.5L5 0Z', round(look, '#5e4433')),
      ...[0, 1, 2, 3, 4].map((tier) => {
        const foot = -14 - tier * 25;
        const half = 34 * (1 - tier / 5.8) * look.random.between(0.92, 1.08);
        return pineTier(look, leaf, foot, half, foot - 44 + tier * 2);
      }),
    ];
  }),
  palm: land(42, [0.2, 0.7], 1.4, '', (look) => {
    const { random } = look;
    const leaf = look.main ?? blend(look, '#3f8f4e #6aa548');
    const [x, y] = [random.between(12, 30), -118];
    const rings = Array.from({ length: 9 }, (_, index) => {
      const share = (index + 1) / 10;
      return `M${x * share ** 1.7 - 5 + share * 2} ${y * share}l${9 - share * 4} -2`;
    });
    const fronds = [-172, -140, -100, -60, -28, -205, 22, -82].map((angle, index) => {
      const turn = ((angle + random.between(-9, 9)) * Math.PI) / 180;
      const tint = index < 3 ? -0.25 : index < 6 ? 0 : 0.14;
      return path(frond(x, y, turn, random.between(48, 62)), flat(look, leaf, tint));
    });
    return [
      path(
        `M-6 2C-2 -40 ${x * 0.4 - 4} -80 ${x - 3} ${y}H${x + 3}C${x * 0.5 + 4} -80 6 -40 6 2Z`,
        round(look, '#9a7a55'),
      ),
      stroke(rings.join(''), flat(look, '#6a5038'), 1.1, 0.6),
      ...fronds,
      path(circles('-4 5 4, 4 6 4, 0 9 4', [x, y]), flat(look, '#6a4a30')),
    ];
  }),
  cactus: land(30, [0.25, 0.75], 1.5, '#4f8a55', (look, green) => [
    stroke('M0 0V-82M0 -34H-20V-62M0 -46H21V-72', flat(look, green, -0.35), 15),
    stroke(
      'M0 0V-82M0 -34H-20V-62M0 -46H21V-72',
      flat(look, green),
      11,
      `transform="translate(${look.side * 2.4} -1)"`,
    ),
    stroke('M0 -4V-84M-20 -38V-62M21 -50V-72M-4 -6V-80M4 -6V-80', flat(look, green, -0.35), 0.8, 0.45),
    look.season === 'spring' ? dots('0 -90 4, 21 -80 3', flat(look, '#f08ab0')) : '',
  ]),
  bush: land(36, [0.2, 0.7], 1.2, '', (look) => {
    const leaf = leafColour(look);
    const heaps = Array.from({ length: 7 }, (_, index): Circle => {
      const y = -11 - (index % 2) * 7 - look.random.between(0, 5);
      return [-26 + index * 8.6, y, look.random.between(10, 14)];
    });
    return [
      dots(heaps, flat(look, leaf, -0.3)),
      path(circles(heaps, [look.side * 3, -4], 0.66), flat(look, leaf)),
    ];
  }),
  flower: land(12, [0.26, 0.97], 3.4, '#e8506a #f6c843 #f4f0ff #a070d8 #f08a4a #f29ac0', (look, bloom) => {
    const [lean, high] = [look.random.between(-4, 4), look.random.between(20, 34)];
    const isYellow = bloom[0] > 230 && bloom[1] > 180 && bloom[2] < 120;
    const petals = petalsAround(lean, -high, 6, 4.4, 3.7);
    return [
      stroke(`M0 0Q0 ${-high / 2} ${lean} ${-high}`, flat(look, '#4f8a3c'), 1.6),
      path('M0 -4q9 -3 11 -10q-9 1 -11 10Z', flat(look, '#4f8a3c')),
      dots(petals, flat(look, bloom, -0.06)),
      path(circles(petals.slice(3), [0, -0.6], 0.6), flat(look, bloom, 0.3)),
      circle([lean, -high], 2.9, flat(look, look.trim ?? (isYellow ? '#8a5a2c' : '#f8d85a'))),
    ];
  }),
  mushroom: land(20, [0.55, 0.92], 1.8, '#cc4038', (look, cap) => [
    path('M-6 0C-4 -10 -4 -16 -5 -22H5C4 -16 4 -10 6 0Z', round(look, '#f0e6d2')),
    path('M-20 -20C-20 -42 20 -42 20 -20C10 -16 -10 -16 -20 -20Z', ball(look, cap)),
    dots('-9 -27 2.8, 2 -32 3.2, 11 -25 2.4', flat(look, '#fbf4e6')),
  ]),
  rock: land(38, [0.3, 0.85], 1.3, '#8c8a88', (look, stone) => {
    const [left, peak, far] = [14, 28, 30].map(
      (high, index) => -high - look.random.between(0, index === 1 ? 10 : 8),
    );
    const facet =
      look.side === 1
        ? `-12 ${peak}, 10 ${far}, 30 -14, 36 0, 6 -10`
        : `10 ${far}, -12 ${peak}, -30 -16, -34 0, -4 -10`;
    return [
      path(
        lines(`-34 0, -30 ${left}, -12 ${peak}, 10 ${far}, 30 -14, 36 0`),
        tall(look, shade(stone, -0.22)),
      ),
      path(lines(facet), tall(look, shade(stone, 0.14))),
    ];
  }),
};

function broadTree(look: Look, breadth: number, high: number): string[] {
  const { random, side } = look;
  const leaf = leafColour(look);
  const crown = high * 0.62;
  const heaps = Array.from({ length: 13 }, (_, index): Circle => {
    const turn = (index / 13) * Math.PI * 2;
    const out = index % 3 === 0 ? 0.35 : 0.72;
    const x = Math.cos(turn) * 31 * breadth * out + random.between(-4, 4);
    const y = -crown + Math.sin(turn) * 33 * out + random.between(-4, 4);
    return [x, y, random.between(14, 20) * (0.8 + breadth * 0.2)];
  });
  const top = heaps.filter(([x, y]) => x * side > -14 && y < -crown + 12);
  const half = 4.5 * breadth;
  const trunk = `M${-half * 1.5} 0C${-half} -14 ${-half * 0.7} -30 ${-half * 0.6} ${-crown}H${half * 0.6}C${half * 0.7} -30 ${half} -14 ${half * 1.5} 0Z`;
  const limbs = `M0 -34L${-17 * breadth} ${-crown + 6}M0 -40L${16 * breadth} ${-crown + 2}`;
  return [
    path(trunk, round(look, '#6b4c38')),
    stroke(limbs, flat(look, '#6b4c38', -0.2), 3.4 * breadth),
    dots(heaps, flat(look, leaf, -0.32)),
    path(circles(heaps, [side * 5, -5], 0.74), flat(look, leaf)),
    path(circles(top, [side * 8, -9], 0.46), flat(look, mix(leaf, rgb('#f2d96a'), 0.2), 0.14), 0.85),
  ];
}

/** The season's colour of leaves, unless another was asked for. */
function leafColour(look: Look): Colour {
  const { main, season, random } = look;
  if (main !== undefined) return main;
  if (season === 'autumn') return random.pick(rgbs('#d9822b #c4532d #e2b03c #a8402f #cf9a36'));
  if (season === 'spring') return random.pick(rgbs('#eba9c0 #f4c6d2 #9cc46a'));
  if (season === 'winter') return random.pick(rgbs('#dfe9f2 #c9d8e4'));
  return blend(look, '#4f8a43 #76a64a');
}

function blend({ random }: Look, two: string): Colour {
  const [from, to = from] = rgbs(two);
  return mix(from, to, random.next());
}

function pineTier(look: Look, leaf: Colour, foot: number, half: number, top: number): string {
  const fringe = Array.from({ length: 7 }, (_, index): Point => {
    const share = index / 6;
    return [half - 2 * half * share, foot + (index % 2 === 0 ? 2 : -4) - 5 * Math.sin(share * Math.PI) + 5];
  });
  const bright = fringe.filter(([x]) => x * look.side >= -half * 0.18);
  const snow = `0 ${top}, ${half * 0.62} ${foot - 11}, ${half * 0.25} ${foot - 15}, 0 ${foot - 9}, ${-half * 0.3} ${foot - 16}, ${-half * 0.62} ${foot - 11}`;
  return (
    path(lines([[0, top], ...fringe]), flat(look, leaf, -0.3)) +
    path(lines([[0, top], ...bright, [-look.side * half * 0.1, foot - 4]]), flat(look, leaf, 0.06)) +
    (look.season === 'winter' ? path(lines(snow), flat(look, '#f4f8fc')) : '')
  );
}

/** A drooping leaf with a notched lower edge. */
function frond(x: number, y: number, turn: number, long: number): string {
  const at = (share: number, down: number): Point => [
    x + Math.cos(turn) * long * share,
    y + Math.sin(turn) * long * share * 0.8 + long * 0.62 * share ** 2.2 + down,
  ];
  const upper = [0.25, 0.5, 0.75, 1].map((share) => at(share, -2.5));
  const lower = [0.92, 0.84, 0.72, 0.62, 0.5, 0.4, 0.26].map((share, index) =>
    at(share, index % 2 === 0 ? 9 : 3),
  );
  return lines([[x, y - 2], ...upper, ...lower, [x, y + 2]]);
}

/** Trees of a wood, seen from afar in few strokes. */
export const drawFarTree = drawn('', (look) => {
  const leaf = leafColour(look);
  return [
    path('M-5 0L-3 -60H3L5 0Z', flat(look, '#6b4c38')),
    dots('-17 -70 19, 16 -72 19, 0 -96 21, -3 -64 17', flat(look, leaf, -0.26)),
    path(circles('-17 -70 19, 16 -72 19, 0 -96 21', [look.side * 5, -5], 0.7), flat(look, leaf)),
  ];
});

export const drawFarPine = drawn('', (look) => {
  const leaf = look.main ?? blend(look, '#2f6a4e #47785a');
  const tiers = [0, 1, 2, 3].map((tier) => [-12 - tier * 31, 34 - tier * 7.5, -64 - tier * 29] as const);
  const whole = tiers.map(([foot, half, top]) => lines(`0 ${top}, ${half} ${foot}, ${-half} ${foot}`));
  const lit = tiers.map(([foot, half, top]) =>
    lines(`0 ${top}, ${look.side * half} ${foot}, ${look.side * half * 0.1} ${foot - 5}`),
  );
  const bright = look.season === 'winter' ? rgb('#dfe9f2') : shade(leaf, 0.06);
  return [
    path(`${whole.join('')}M-4 0V-14H4V0Z`, flat(look, leaf, -0.3)),
    path(lit.join(''), flat(look, bright)),
  ];
});
