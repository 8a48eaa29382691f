/** Tall stone: lighthouses, castles, towers and bridges. */
import { rgb, rgbs, shade, type Colour } from '../../colour.ts';
import { box, circle, ellipse, lines, path, stroke } from '../drawing.ts';
import { flat, lamplight, pane, round, type DrawThing, type Look } from './look.ts';

/** Half the lighthouse's width at a height. */
function halfAt(y: number): number {
  return 25 - (y / 138) * 10;
}

/** About 60 wide and 190 high, striped; its beam shines at dusk and at night. */
export const drawLighthouse: DrawThing = (look) => {
  const body = look.main ?? rgb('#f4efe6');
  const white = body[0] > 200 && body[1] > 200;
  const stripe = look.trim ?? (white ? rgb('#c8433a') : rgb('#f6f1e6'));
  const bands = [18, 66, 114].map((y) =>
    path(
      lines([
        [-halfAt(y), -y],
        [halfAt(y), -y],
        [halfAt(y + 24), -y - 24],
        [-halfAt(y + 24), -y - 24],
      ]),
      round(look, stripe),
    ),
  );
  const iron = flat(look, rgb('#3d4450'));
  const lamp = look.isLamplit ? '#fff3c4' : flat(look, rgb('#bcd6e2'));
  const parts = [
    look.isLamplit ? beam(look) : '',
    box([16, -26], 44, 26, round(look, rgb('#e9e0d0'))),
    path('M12 -25L24 -42H54L64 -25Z', flat(look, stripe)),
    box([38, -18], 8, 9, pane(look)),
    path(lines('-25 0, 25 0, 15 -138, -15 -138'), round(look, body)),
    ...bands,
    box([-20, -144], 40, 6, iron),
    box([-11, -164], 22, 21, lamp),
    stroke('M-11 -164V-144M0 -164V-144M11 -164V-144M-20 -152H20M-20 -152V-144M20 -152V-144', iron, 1.4),
    path('M-14 -164C-12 -178 -4 -180 0 -184C4 -180 12 -178 14 -164Z', flat(look, stripe)),
    path('M-6 0V-16A6 6 0 0 1 6 -16V0Z', flat(look, rgb('#5e4030'))),
    box([-3, -58], 6, 9, pane(look)),
    box([-3, -106], 6, 9, pane(look)),
    lamplight(look, 0, -154, 46),
  ];
  return parts.join('');
};

function beam(look: Look): string {
  const warm = rgb('#fff0b8');
  const ray = (side: -1 | 1): string => {
    const fade = look.drawing.linearAlong(
      side === 1 ? [0, 0, 1, 0] : [1, 0, 0, 0],
      [0, warm, 0.62],
      [0.5, warm, 0.2],
      [1, warm, 0],
    );
    return path(
      lines([
        [0, -157],
        [side * 420, -226],
        [side * 420, -118],
        [0, -151],
      ]),
      fade,
    );
  };
  return ray(1) + ray(-1) + circle([0, -154], 26, look.drawing.radial([0, warm, 0.9], [1, warm, 0]));
}

/** About 190 wide and 190 high. */
export const drawCastle: DrawThing = (look) => {
  const stone = look.main ?? look.random.pick(rgbs('#b8b0a8 #cbb99c #a9adb8'));
  const roof = look.trim ?? look.random.pick(rgbs('#4f6a94 #a8483e #5a7a6a'));
  const gate = look.isLamplit ? '#e8a850' : flat(look, shade(stone, -0.75));
  const parts = [
    turret(look, { x: 0, wide: 46, high: 132, stone: shade(stone, -0.08), roof }),
    turret(look, { x: -44, wide: 28, high: 104, stone: shade(stone, -0.06), roof }),
    turret(look, { x: 46, wide: 26, high: 116, stone: shade(stone, -0.06), roof }),
    battlement(look, -78, 156, 58, stone),
    turret(look, { x: -80, wide: 34, high: 82, stone, roof }),
    turret(look, { x: 80, wide: 34, high: 90, stone, roof }),
    path('M-17 0V-26A17 17 0 0 1 17 -26V0Z', flat(look, shade(stone, -0.35))),
    path('M-13 0V-25A13 13 0 0 1 13 -25V0Z', gate),
    lamplight(look, 0, -20, 36),
  ];
  return parts.join('');
};

interface Turret {
  x: number;
  wide: number;
  high: number;
  stone: Colour;
  roof: Colour;
}

function turret(look: Look, { x, wide, high, stone, roof }: Turret): string {
  const half = wide / 2;
  const cone = wide * 1.15;
  const slit = (y: number): string => path(`M${x - 3} ${y}v-9a3 3 0 0 1 6 0v9Z`, pane(look));
  const flag = path(
    `M${x} ${-high - cone - 16}l15 4.500l-15 4.500Z`,
    flat(look, look.trim ?? rgb('#d8504a')),
  );
  return [
    box([x - half, -high], wide, high, round(look, stone)),
    box([x - half - 3, -high - 5], wide + 6, 9, round(look, shade(stone, 0.05))),
    path(
      `M${x - half - 6} ${-high - 4}L${x} ${-high - cone}L${x + half + 6} ${-high - 4}Z`,
      round(look, roof),
    ),
    stroke(`M${x} ${-high - cone}v-16`, flat(look, rgb('#4a4650')), 1.3),
    flag,
    slit(-high + 24),
    high > 100 ? slit(-high + 50) : '',
    lamplight(look, x, -high + 20, 17),
  ].join('');
}

function battlement(look: Look, x: number, wide: number, high: number, stone: Colour): string {
  const teeth = Array.from({ length: Math.floor(wide / 13) }, (_, index) =>
    box([x + index * 13, -high - 8], 8, 9, flat(look, shade(stone, 0.04))),
  );
  const courses = [14, 28, 42].map((y) => `M${x} ${-y}h${wide}`).join('');
  return (
    teeth.join('') +
    box([x, -high], wide, high, round(look, stone, 0.22)) +
    stroke(courses, flat(look, shade(stone, -0.35)), 0.8, 'opacity="0.35"')
  );
}

/** A single stone tower, about 150 high. */
export const drawTower: DrawThing = (look) => {
  const stone = look.main ?? rgb('#b9aa96');
  const roof = look.trim ?? rgb('#8f4a3e');
  return (
    turret(look, { x: 0, wide: 44, high: 118, stone, roof }) +
    path('M-8 0V-20A8 8 0 0 1 8 -20V0Z', flat(look, rgb('#4e3a30')))
  );
};

function arch(x: number, reach: number): string {
  return `M${x - reach} 8V-6A${reach} ${reach * 0.95} 0 0 1 ${x + reach} -6V8Z`;
}

/** A stone bridge with three arches, 260 wide, its road 52 above the water. */
export const drawArchBridge: DrawThing = (look) => {
  const stone = look.main ?? rgb('#b3a690');
  const outline = `M-150 8V-32Q0 -66 150 -32V8Z${arch(-82, 29)}${arch(0, 36)}${arch(82, 29)}`;
  return [
    path(
      outline,
      look.drawing.linear([0, look.seen(shade(stone, 0.2))], [1, look.seen(shade(stone, -0.35))]),
      'fill-rule="evenodd"',
    ),
    stroke('M-152 -36Q0 -70 152 -36', flat(look, shade(stone, 0.28)), 5),
    stroke('M-150 -26Q0 -60 150 -26', flat(look, shade(stone, -0.4)), 1.2, 'opacity="0.5"'),
    ellipse([0, 8], 150, 4, flat(look, shade(stone, -0.6)), 'opacity="0.35"'),
  ].join('');
};

/** A great hanging bridge, 760 wide, over open water. */
export const drawHangingBridge: DrawThing = (look) => {
  const paint = look.main ?? rgb('#c2503c');
  const fill = flat(look, paint);
  const dark = flat(look, shade(paint, -0.3));
  const hangers: string[] = [];
  for (let x = -132; x <= 132; x += 12) hangers.push(`M${x} -44V${-52 - 86 * (x / 140) ** 2}`);
  const tower = (x: number): string =>
    box([x - 8, -150], 6, 152, fill) +
    box([x + 3, -150], 6, 152, dark) +
    [-142, -112, -78, -14].map((y) => box([x - 8, y], 17, 5, fill)).join('');
  return [
    stroke(hangers.join(''), fill, 1, 'opacity="0.8"'),
    stroke('M-380 -48Q-230 -58 -140 -146Q0 42 140 -146Q230 -58 380 -48', fill, 3),
    tower(-140),
    tower(140),
    box([-390, -46], 780, 6, fill),
    box([-390, -41], 780, 3, dark),
  ].join('');
};
