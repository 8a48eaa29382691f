/** What is built: houses, towers, bridges. */
import { mix, rgb, rgbs, shade, type Colour } from '../../colour.ts';
import { box, circle, ellipse, lines, path, stroke } from '../drawing.ts';
import { land, drawn, flat, lamplight, pane, round, smoke, tall, type Look } from './look.ts';

export const buildings = {
  house: land(62, [0.16, 0.4], 2.1, '#f1e4cc #e8d2b0 #d98f6c #cfd8dc #e6c07a', (look, wall) => {
    const roof = look.trim ?? roofFor(look, wall);
    return [
      look.isLamplit || look.season === 'winter' || look.season === 'autumn' ? smoke(look, 27, -112) : '',
      box([22, -104], 10, 26, flat(look, '#9a6a58')) + box([20, -106], 14, 4, flat(look, '#6e4a40')),
      box([-10, -50], 64, 50, tall(look, shade(wall, look.side === -1 ? -0.16 : 0.12), 0.12)),
      path('M-52 0V-50L-30 -86L-8 -50V0Z', flat(look, wall, look.side === -1 ? 0.14 : -0.16)),
      path(
        'M-32 -90H40L61 -46H-7Z',
        look.drawing.linear([0, look.seen(shade(roof, 0.16))], [1, look.seen(shade(roof, -0.12))]),
      ),
      stroke('M-56 -45L-31 -89L-7 -46', flat(look, roof, -0.3), 4.5),
      window(look, 6, -37, 14, 17),
      window(look, 31, -37, 14, 17),
      door(look, -38, 28, look.trim ?? mix(roof, rgb('#5a3d2c'), 0.5)),
      window(look, -35, -60, 10, 11),
      lamplight(look, 13, -28, 34),
      lamplight(look, 38, -28, 34),
      lamplight(look, -30, -52, 26),
    ];
  }),
  barn: land(70, [0.16, 0.36], 2, '#a83a32, #f4efe4', (look, wall, trim) => {
    const planks = Array.from({ length: 8 }, (_, index) => `M${-44 + index * 10} 0V-52`).join('');
    return [
      box([46, -96], 24, 96, round(look, '#c9ccd0')),
      path('M46 -96A12 13 0 0 1 70 -96Z', round(look, '#9aa4ae')),
      path('M-50 0V-48L-38 -74L-8 -92L22 -74L34 -48V0Z', tall(look, wall, 0.16)),
      stroke(planks, flat(look, wall, -0.3), 0.8, 0.6),
      stroke(
        'M-54 -46L-41 -76L-8 -95L25 -76L38 -46',
        flat(look, look.season === 'winter' ? rgb('#f2f6fb') : rgb('#6d6066')),
        6,
      ),
      box([-26, -38], 36, 38, flat(look, wall, -0.28)),
      stroke('M-26 0V-38H10V0M-26 0L10 -38M-26 -38L10 0', flat(look, trim), 2.4),
      box([-15, -70], 14, 13, pane(look)),
      stroke('M-15 -70h14v13h-14Z', flat(look, trim), 2),
      lamplight(look, -8, -62, 30),
    ];
  }),
  church: land(60, [0.12, 0.32], 1.8, '#efe8da, #5f6b7c', (look, wall, roof) => {
    const arch = (x: number, y: number, wide: number, high: number): string =>
      path(`M${x} ${y}v${-high}a${wide / 2} ${wide / 2} 0 0 1 ${wide} 0v${high}Z`, pane(look));
    return [
      box([-10, -52], 66, 52, tall(look, shade(wall, -0.08))),
      path('M-14 -50L-2 -78H48L60 -50Z', tall(look, roof)),
      box([-44, -92], 36, 92, round(look, wall, 0.22)),
      path('M-48 -90L-26 -146L-4 -90Z', round(look, roof)),
      stroke('M-26 -146V-162M-31 -156H-21', flat(look, '#d8b65c'), 2.2),
      arch(-33, -58, 14, 14),
      arch(2, -18, 9, 16),
      arch(21, -18, 9, 16),
      arch(40, -18, 9, 16),
      path('M-34 0V-20A8 8 0 0 1 -18 -20V0Z', flat(look, '#6a4632')),
      lamplight(look, -26, -64, 30),
      lamplight(look, 26, -26, 40),
    ];
  }),
  windmill: land(60, [0.12, 0.32], 1.9, '#ead9bd, #7a4b3a', (look, wall, cap) => {
    const turn = look.random.between(8, 38);
    const sail = `${box([-2, -66], 4, 66, flat(look, '#6a4a36'))}${box([2, -64], 13, 48, flat(look, '#f4ecd8'), 0.93)}${stroke('M2 -52H15M2 -40H15M2 -28H15M8.5 -64V-16', flat(look, '#6a4a36'), 0.9)}`;
    const sails = [0, 90, 180, 270].map(
      (angle) => `<g transform="rotate(${Math.round(turn + angle)})">${sail}</g>`,
    );
    return [
      path('M-31 0L-19 -88H19L31 0Z', round(look, wall, 0.3)),
      path('M-23 -86C-22 -108 -8 -112 0 -112C8 -112 22 -108 23 -86Z', round(look, cap)),
      path('M-8 0V-20A8 8 0 0 1 8 -20V0Z', flat(look, '#5e4030')),
      window(look, -5, -56, 10, 12),
      box([-26, -34], 52, 3, flat(look, cap, 0.1)),
      lamplight(look, 0, -50, 28),
      `<g transform="translate(0 -94)">${sails.join('')}</g>`,
      circle([0, -94], 4.5, flat(look, '#4a3428')),
    ];
  }),
  tent: land(62, [0.4, 0.62], 1.7, '#e08a3c #d8573e #e8c660 #4f8f8a', (look, cloth) => [
    path('M-8 -52L52 -44L66 0H18Z', tall(look, shade(cloth, -0.22))),
    path('M-44 0L-8 -52L18 0Z', tall(look, shade(cloth, 0.08))),
    path('M-18 0L-8 -44L4 0Z', look.isLamplit ? '#ffd58a' : flat(look, cloth, -0.6)),
    path('M-18 0L-8 -44L-13 0Z', flat(look, cloth, 0.2)),
    lamplight(look, -8, -16, 52),
  ]),
  pyramid: land(108, [0.04, 0.2], 1.6, '#dcb272', (look, stone) => {
    const [left, right] = look.side === -1 ? [0.16, -0.34] : [-0.34, 0.16];
    const courses = Array.from({ length: 11 }, (_, index) => {
      const up = (index + 1) * 10.5;
      const half = 104 * (1 - up / 126);
      return `M${-half} ${-up}L${half * 0.15} ${-up + 3}L${half} ${-up}`;
    });
    return [
      path(lines('-104 0, 0 -126, 18 0'), tall(look, shade(stone, left), 0.1)),
      path(lines('18 0, 0 -126, 104 0'), tall(look, shade(stone, right), 0.1)),
      stroke(courses.join(''), flat(look, stone, -0.4), 0.7, 0.4),
      ellipse([0, 0], 104, 3, flat(look, stone, -0.2), 0.3),
    ];
  }),
  fence: land(70, [0.56, 0.72], 1, '#f2ece0', (look, wood) => [
    path('M-112 -12h224v4h-224ZM-112 -25h224v4h-224Z', flat(look, wood, -0.14)),
    path(
      [-110, -66, -22, 22, 66, 110].map((x) => `M${x - 3.5} 0v-30l3.5 -5l3.5 5v30Z`).join(''),
      tall(look, wood, 0.16),
    ),
  ]),
  lighthouse: land(36, [0.12, 0.3], 1.45, '#f4efe6', (look, body) => {
    const stripe = look.trim ?? (body[0] > 200 && body[1] > 200 ? rgb('#c8433a') : rgb('#f6f1e6'));
    return [
      look.isLamplit ? beam(look) : '',
      box([16, -26], 44, 26, round(look, '#e9e0d0')),
      path('M12 -25L24 -42H54L64 -25Z', flat(look, stripe)),
      box([38, -18], 8, 9, pane(look)),
      path(lines('-25 0, 25 0, 15 -138, -15 -138'), round(look, body)),
      ...[18, 66, 114].map((y) => path(lines(bandAt(y)), round(look, stripe))),
      box([-20, -144], 40, 6, flat(look, '#3d4450')),
      box([-11, -164], 22, 21, look.isLamplit ? '#fff3c4' : flat(look, '#bcd6e2')),
      stroke(
        'M-11 -164V-144M0 -164V-144M11 -164V-144M-20 -152H20M-20 -152V-144M20 -152V-144',
        flat(look, '#3d4450'),
        1.4,
      ),
      path('M-14 -164C-12 -178 -4 -180 0 -184C4 -180 12 -178 14 -164Z', flat(look, stripe)),
      path('M-6 0V-16A6 6 0 0 1 6 -16V0Z', flat(look, '#5e4030')),
      box([-3, -58], 6, 9, pane(look)),
      box([-3, -106], 6, 9, pane(look)),
      lamplight(look, 0, -154, 46),
    ];
  }),
  castle: land(
    104,
    [0.08, 0.22],
    1.75,
    '#b8b0a8 #cbb99c #a9adb8, #4f6a94 #a8483e #5a7a6a',
    (look, stone, roof) => [
      turret(look, 0, 46, 132, shade(stone, -0.08), roof),
      turret(look, -44, 28, 104, shade(stone, -0.06), roof),
      turret(look, 46, 26, 116, shade(stone, -0.06), roof),
      battlement(look, -78, 156, 58, stone),
      turret(look, -80, 34, 82, stone, roof),
      turret(look, 80, 34, 90, stone, roof),
      path('M-17 0V-26A17 17 0 0 1 17 -26V0Z', flat(look, stone, -0.35)),
      path('M-13 0V-25A13 13 0 0 1 13 -25V0Z', look.isLamplit ? '#e8a850' : flat(look, stone, -0.75)),
      lamplight(look, 0, -20, 36),
    ],
  ),
  tower: land(34, [0.1, 0.3], 1.9, '#b9aa96, #8f4a3e', (look, stone, roof) => [
    turret(look, 0, 44, 118, stone, roof),
    path('M-8 0V-20A8 8 0 0 1 8 -20V0Z', flat(look, '#4e3a30')),
  ]),
  bridge: land(130, [0.32, 0.4], 1.1, '#b3a690', (look, stone) => [
    path(
      `M-150 8V-32Q0 -66 150 -32V8Z${archUnder(-82, 29)}${archUnder(0, 36)}${archUnder(82, 29)}`,
      look.drawing.linear([0, look.seen(shade(stone, 0.2))], [1, look.seen(shade(stone, -0.35))]),
      'fill-rule="evenodd"',
    ),
    stroke('M-152 -36Q0 -70 152 -36', flat(look, stone, 0.28), 5),
    stroke('M-150 -26Q0 -60 150 -26', flat(look, stone, -0.4), 1.2, 0.5),
    ellipse([0, 8], 150, 4, flat(look, stone, -0.6), 0.35),
  ]),
};

function roofFor(look: Look, wall: Colour): Colour {
  if (look.season === 'winter') return rgb('#f2f6fb');
  const isRed = wall[0] > 150 && wall[1] < 110;
  return isRed ? rgb('#5b5560') : look.random.pick(rgbs('#a9503e #8a5a44 #5d6472 #b5683f'));
}

function door(look: Look, x: number, high: number, colour: Colour): string {
  return box([x, -high], 16, high, flat(look, colour, -0.2)) + circle([x + 12.5, -high / 2], 1.3, '#f0d080');
}

/** A framed window with a cross. */
function window(look: Look, x: number, y: number, wide: number, high: number): string {
  const frame = flat(look, '#f7f2e6');
  const cross = `M${x + wide / 2} ${y}V${y + high}M${x} ${y + high / 2}H${x + wide}`;
  return (
    box([x - 1.5, y - 1.5], wide + 3, high + 3, frame) +
    box([x, y], wide, high, pane(look)) +
    stroke(cross, frame, 1.2)
  );
}

function bandAt(y: number): string {
  const [low, high] = [y, y + 24].map((up) => 25 - (up / 138) * 10);
  return `-${low} -${y}, ${low} -${y}, ${high} -${y + 24}, -${high} -${y + 24}`;
}

function beam({ drawing }: Look): string {
  const warm = rgb('#fff0b8');
  const rays = ([-1, 1] as const).map((side) =>
    path(
      lines(`0 -157, ${side * 420} -226, ${side * 420} -118, 0 -151`),
      drawing.linearAlong(
        side === 1 ? [0, 0, 1, 0] : [1, 0, 0, 0],
        [0, warm, 0.62],
        [0.5, warm, 0.2],
        [1, warm, 0],
      ),
    ),
  );
  return rays.join('') + circle([0, -154], 26, drawing.radial([0, warm, 0.9], [1, warm, 0]));
}

function turret(look: Look, x: number, wide: number, high: number, stone: Colour, roof: Colour): string {
  const half = wide / 2;
  const top = -high - wide * 1.15;
  const slit = (y: number): string => path(`M${x - 3} ${y}v-9a3 3 0 0 1 6 0v9Z`, pane(look));
  return [
    box([x - half, -high], wide, high, round(look, stone)),
    box([x - half - 3, -high - 5], wide + 6, 9, round(look, shade(stone, 0.05))),
    path(`M${x - half - 6} ${-high - 4}L${x} ${top}L${x + half + 6} ${-high - 4}Z`, round(look, roof)),
    stroke(`M${x} ${top}v-16`, flat(look, '#4a4650'), 1.3),
    path(`M${x} ${top - 16}l15 4.5l-15 4.5Z`, flat(look, look.trim ?? '#d8504a')),
    slit(-high + 24),
    high > 100 ? slit(-high + 50) : '',
    lamplight(look, x, -high + 20, 17),
  ].join('');
}

function battlement(look: Look, x: number, wide: number, high: number, stone: Colour): string {
  const teeth = Array.from({ length: Math.floor(wide / 13) }, (_, index) =>
    box([x + index * 13, -high - 8], 8, 9, flat(look, stone, 0.04)),
  );
  const courses = [14, 28, 42].map((y) => `M${x} ${-y}h${wide}`).join('');
  return (
    teeth.join('') +
    box([x, -high], wide, high, round(look, stone, 0.22)) +
    stroke(courses, flat(look, stone, -0.35), 0.8, 0.35)
  );
}

function archUnder(x: number, reach: number): string {
  return `M${x - reach} 8V-6A${reach} ${reach * 0.95} 0 0 1 ${x + reach} -6V8Z`;
}

/** A great hanging bridge, 760 wide, over open water. */
export const drawHangingBridge = drawn('#c2503c', (look, paint) => {
  const hangers: string[] = [];
  for (let x = -132; x <= 132; x += 12) hangers.push(`M${x} -44V${-52 - 86 * (x / 140) ** 2}`);
  const tower = (x: number): string =>
    box([x - 8, -150], 6, 152, flat(look, paint)) +
    box([x + 3, -150], 6, 152, flat(look, paint, -0.3)) +
    [-142, -112, -78, -14].map((y) => box([x - 8, y], 17, 5, flat(look, paint))).join('');
  return [
    stroke(hangers.join(''), flat(look, paint), 1, 0.8),
    stroke('M-380 -48Q-230 -58 -140 -146Q0 42 140 -146Q230 -58 380 -48', flat(look, paint), 3),
    tower(-140),
    tower(140),
    box([-390, -46], 780, 6, flat(look, paint)),
    box([-390, -41], 780, 3, flat(look, paint, -0.3)),
  ];
});
