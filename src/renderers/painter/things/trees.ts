/** Trees: round ones, oaks, pines, palms, cacti and bushes; and those of a wood, seen from afar in few strokes. */
import { mix, rgb, rgbs, shade, type Colour } from '../../colour.ts';
import { circles, lines, path, stroke, type Point } from '../drawing.ts';
import { blend, flat, round, type DrawThing, type Look } from './look.ts';

/** About 80 wide and 130 high. */
export const drawTree: DrawThing = (look) => broadTree(look, 1, 132);

/** About 140 wide and 140 high. */
export const drawOak: DrawThing = (look) => broadTree(look, 1.65, 142);

function broadTree(look: Look, breadth: number, high: number): string {
  const { random, side } = look;
  const leaf = leafColour(look);
  const bark = rgb('#6b4c38');
  const crown = high * 0.62;
  const heaps = Array.from({ length: 13 }, (_, index) => {
    const turn = (index / 13) * Math.PI * 2;
    const out = index % 3 === 0 ? 0.35 : 0.72;
    const x = Math.cos(turn) * 31 * breadth * out + random.between(-4, 4);
    const y = -crown + Math.sin(turn) * 33 * out + random.between(-4, 4);
    return [x, y, random.between(14, 20) * (0.8 + breadth * 0.2)] as const;
  });
  const lit = heaps.map(([x, y, r]) => [x + side * 5, y - 5, r * 0.74] as const);
  const top = heaps
    .filter(([x, y]) => x * side > -14 && y < -crown + 12)
    .map(([x, y, r]) => [x + side * 8, y - 9, r * 0.46] as const);
  const half = 4.5 * breadth;
  const trunk = `M${-half * 1.5} 0C${-half} -14 ${-half * 0.7} -30 ${-half * 0.6} ${-crown}H${half * 0.6}C${half * 0.7} -30 ${half} -14 ${half * 1.5} 0Z`;
  const limbs = `M0 -34L${-17 * breadth} ${-crown + 6}M0 -40L${16 * breadth} ${-crown + 2}`;
  return [
    path(trunk, round(look, bark)),
    stroke(limbs, flat(look, shade(bark, -0.2)), 3.4 * breadth),
    path(circles(heaps), flat(look, shade(leaf, -0.32))),
    path(circles(lit), flat(look, leaf)),
    path(circles(top), flat(look, shade(mix(leaf, rgb('#f2d96a'), 0.2), 0.14)), 'opacity="0.85"'),
  ].join('');
}

/** The season's colour of leaves, unless another was asked for. */
function leafColour(look: Look): Colour {
  if (look.main !== undefined) return look.main;
  const { random } = look;
  if (look.season === 'autumn') return random.pick(rgbs('#d9822b #c4532d #e2b03c #a8402f #cf9a36'));
  if (look.season === 'spring') return random.pick(rgbs('#eba9c0 #f4c6d2 #9cc46a'));
  if (look.season === 'winter') return random.pick(rgbs('#dfe9f2 #c9d8e4'));
  return blend([rgb('#4f8a43'), rgb('#76a64a')], look);
}

/** About 70 wide and 150 high. */
export const drawPine: DrawThing = (look) => {
  const { random, side } = look;
  const leaf = look.main ?? blend([rgb('#2f6a4e'), rgb('#47785a')], look);
  const tiers = 5;
  const shapes = Array.from({ length: tiers }, (_, tier) => {
    const foot = -14 - tier * 25;
    const half = 34 * (1 - tier / (tiers + 0.8)) * random.between(0.92, 1.08);
    return pineTier(look, leaf, { foot, half, top: foot - 44 + tier * 2, side });
  });
  return path('M-5 0L-3.500 -30H3.500L5 0Z', round(look, rgb('#5e4433'))) + shapes.join('');
};

function pineTier(
  look: Look,
  leaf: Colour,
  { foot, half, top, side }: { foot: number; half: number; top: number; side: -1 | 1 },
): string {
  const fringe = Array.from({ length: 7 }, (_, index): Point => {
    const share = index / 6;
    return [half - 2 * half * share, foot + (index % 2 === 0 ? 2 : -4) - 5 * Math.sin(share * Math.PI) + 5];
  });
  const whole = lines([[0, top], ...fringe]);
  const bright = fringe.filter(([x]) => x * side >= -half * 0.18);
  const lit = lines([[0, top], ...bright, [-side * half * 0.1, foot - 4]]);
  const snow =
    look.season === 'winter'
      ? path(
          lines([
            [0, top],
            [half * 0.62, foot - 11],
            [half * 0.25, foot - 15],
            [0, foot - 9],
            [-half * 0.3, foot - 16],
            [-half * 0.62, foot - 11],
          ]),
          flat(look, rgb('#f4f8fc')),
        )
      : '';
  return path(whole, flat(look, shade(leaf, -0.3))) + path(lit, flat(look, shade(leaf, 0.06))) + snow;
}

/** About 110 wide and 150 high, leaning. */
export const drawPalm: DrawThing = (look) => {
  const { random } = look;
  const leaf = look.main ?? blend([rgb('#3f8f4e'), rgb('#6aa548')], look);
  const lean = random.between(12, 30);
  const [x, y] = [lean, -118];
  const trunk = `M-6 2C-2 -40 ${x * 0.4 - 4} -80 ${x - 3} ${y}H${x + 3}C${x * 0.5 + 4} -80 6 -40 6 2Z`;
  const rings = Array.from({ length: 9 }, (_, index) => {
    const share = (index + 1) / 10;
    const middle = lean * share ** 1.7;
    return `M${(middle - 5 + share * 2).toFixed(1)} ${(y * share).toFixed(1)}l${(9 - share * 4).toFixed(1)} -2`;
  });
  const fronds = [-172, -140, -100, -60, -28, -205, 22, -82].map((angle, index) => {
    const turn = ((angle + random.between(-9, 9)) * Math.PI) / 180;
    const long = random.between(48, 62);
    const tint = index < 3 ? shade(leaf, -0.25) : index < 6 ? leaf : shade(leaf, 0.14);
    return path(frond(x, y, turn, long), flat(look, tint));
  });
  const nuts = path(
    circles([
      [x - 4, y + 5, 4],
      [x + 4, y + 6, 4],
      [x, y + 9, 4],
    ]),
    flat(look, rgb('#6a4a30')),
  );
  return (
    path(trunk, round(look, rgb('#9a7a55'))) +
    stroke(rings.join(''), flat(look, rgb('#6a5038')), 1.1, 'opacity="0.6"') +
    fronds.join('') +
    nuts
  );
};

/** A drooping leaf with a notched lower edge. */
function frond(x: number, y: number, turn: number, long: number): string {
  const at = (share: number): Point => [
    x + Math.cos(turn) * long * share,
    y + Math.sin(turn) * long * share * 0.8 + long * 0.62 * share ** 2.2,
  ];
  const upper = [0.25, 0.5, 0.75, 1].map(at).map(([px, py]): Point => [px, py - 2.5]);
  const lower = [0.92, 0.84, 0.72, 0.62, 0.5, 0.4, 0.26].map((share, index): Point => {
    const [px, py] = at(share);
    return [px, py + (index % 2 === 0 ? 9 : 3)];
  });
  return lines([[x, y - 2], ...upper, ...lower, [x, y + 2]]);
}

export const drawCactus: DrawThing = (look) => {
  const green = look.main ?? rgb('#4f8a55');
  const body = flat(look, green);
  const dark = flat(look, shade(green, -0.35));
  const arms = 'M0 0V-82M0 -34H-20V-62M0 -46H21V-72';
  const grooves = 'M0 -4V-84M-20 -38V-62M21 -50V-72M-4 -6V-80M4 -6V-80';
  const [dx] = [look.side * 2.4];
  return [
    stroke(arms, dark, 15),
    stroke(arms, body, 11, `transform="translate(${dx} -1)"`),
    stroke(grooves, dark, 0.8, 'opacity="0.45"'),
    look.season === 'spring' ? path(circles('0 -90 4, 21 -80 3'), flat(look, rgb('#f08ab0'))) : '',
  ].join('');
};

export const drawBush: DrawThing = (look) => {
  const leaf = leafColour(look);
  const heaps = Array.from(
    { length: 7 },
    (_, index) =>
      [
        -26 + index * 8.6,
        -11 - (index % 2) * 7 - look.random.between(0, 5),
        look.random.between(10, 14),
      ] as const,
  );
  const lit = heaps.map(([x, y, r]) => [x + look.side * 3, y - 4, r * 0.66] as const);
  return path(circles(heaps), flat(look, shade(leaf, -0.3))) + path(circles(lit), flat(look, leaf));
};

export const drawFarTree: DrawThing = (look) => {
  const leaf = leafColour(look);
  const heaps = [
    [-17, -70, 19],
    [16, -72, 19],
    [0, -96, 21],
    [-3, -64, 17],
  ] as const;
  const lit = heaps.slice(0, 3).map(([x, y, r]) => [x + look.side * 5, y - 5, r * 0.7] as const);
  return [
    path('M-5 0L-3 -60H3L5 0Z', flat(look, rgb('#6b4c38'))),
    path(circles(heaps), flat(look, shade(leaf, -0.26))),
    path(circles(lit), flat(look, leaf)),
  ].join('');
};

export const drawFarPine: DrawThing = (look) => {
  const leaf = look.main ?? blend([rgb('#2f6a4e'), rgb('#47785a')], look);
  const tiers = [0, 1, 2, 3].map((tier) => ({
    foot: -12 - tier * 31,
    half: 34 - tier * 7.5,
    top: -64 - tier * 29,
  }));
  const whole = tiers.map(({ foot, half, top }) =>
    lines([
      [0, top],
      [half, foot],
      [-half, foot],
    ]),
  );
  const lit = tiers.map(({ foot, half, top }) =>
    lines([
      [0, top],
      [look.side * half, foot],
      [look.side * half * 0.1, foot - 5],
    ]),
  );
  const bright = look.season === 'winter' ? rgb('#dfe9f2') : shade(leaf, 0.06);
  const trunk = 'M-4 0V-14H4V0Z';
  return path(whole.join('') + trunk, flat(look, shade(leaf, -0.3))) + path(lit.join(''), flat(look, bright));
};
