/** Houses, barns, churches, windmills and tents. */
import { mix, rgb, rgbs, shade, type Colour } from '../../colour.ts';
import { box, circle, ellipse, lines, path, stroke } from '../drawing.ts';
import { flat, lamplight, pane, round, smoke, tall, type DrawThing, type Look } from './look.ts';

/** About 112 wide and 92 high: a gable with the door, and a long side under the roof. */
export const drawHouse: DrawThing = (look) => {
  const wall = look.main ?? look.random.pick(rgbs('#f1e4cc #e8d2b0 #d98f6c #cfd8dc #e6c07a'));
  const roof = look.trim ?? roofFor(look, wall);
  const isGableLit = look.side === -1;
  const gable = flat(look, shade(wall, isGableLit ? 0.14 : -0.16));
  const long = tall(look, shade(wall, isGableLit ? -0.16 : 0.12), 0.12);
  const slope = look.drawing.linear([0, look.seen(shade(roof, 0.16))], [1, look.seen(shade(roof, -0.12))]);
  const chimney =
    box([22, -104], 10, 26, flat(look, rgb('#9a6a58'))) + box([20, -106], 14, 4, flat(look, rgb('#6e4a40')));
  const isCold = look.isLamplit || look.season === 'winter' || look.season === 'autumn';
  const parts = [
    isCold ? smoke(look, 27, -112) : '',
    chimney,
    box([-10, -50], 64, 50, long),
    path('M-52 0V-50L-30 -86L-8 -50V0Z', gable),
    path('M-32 -90H40L61 -46H-7Z', slope),
    stroke('M-56 -45L-31 -89L-7 -46', flat(look, shade(roof, -0.3)), 4.5),
    window(look, 6, -37, 14, 17),
    window(look, 31, -37, 14, 17),
    door(look, -38, 28, look.trim ?? mix(roof, rgb('#5a3d2c'), 0.5)),
    window(look, -35, -60, 10, 11),
    lamplight(look, 13, -28, 34),
    lamplight(look, 38, -28, 34),
    lamplight(look, -30, -52, 26),
  ];
  return parts.join('');
};

function roofFor(look: Look, wall: Colour): Colour {
  if (look.season === 'winter') return rgb('#f2f6fb');
  const isRed = wall[0] > 150 && wall[1] < 110;
  return isRed ? rgb('#5b5560') : look.random.pick(rgbs('#a9503e #8a5a44 #5d6472 #b5683f'));
}

function door(look: Look, x: number, high: number, colour: Colour): string {
  return (
    box([x, -high], 16, high, flat(look, shade(colour, -0.2))) + circle([x + 12.5, -high / 2], 1.3, '#f0d080')
  );
}

/** A framed window with a cross. */
function window(look: Look, x: number, y: number, wide: number, high: number): string {
  const frame = flat(look, rgb('#f7f2e6'));
  const cross = `M${x + wide / 2} ${y}V${y + high}M${x} ${y + high / 2}H${x + wide}`;
  return (
    box([x - 1.5, y - 1.5], wide + 3, high + 3, frame) +
    box([x, y], wide, high, pane(look)) +
    stroke(cross, frame, 1.2)
  );
}

/** About 130 wide and 100 high, with a silo. */
export const drawBarn: DrawThing = (look) => {
  const wall = look.main ?? rgb('#a83a32');
  const white = flat(look, look.trim ?? rgb('#f4efe4'));
  const front = 'M-50 0V-48L-38 -74L-8 -92L22 -74L34 -48V0Z';
  const roof = flat(look, look.season === 'winter' ? rgb('#f2f6fb') : rgb('#6d6066'));
  const planks = Array.from({ length: 8 }, (_, index) => `M${-44 + index * 10} 0V-52`).join('');
  const parts = [
    box([46, -96], 24, 96, round(look, rgb('#c9ccd0'))),
    path('M46 -96A12 13 0 0 1 70 -96Z', round(look, rgb('#9aa4ae'))),
    path(front, tall(look, wall, 0.16)),
    stroke(planks, flat(look, shade(wall, -0.3)), 0.8, 'opacity="0.6"'),
    stroke('M-54 -46L-41 -76L-8 -95L25 -76L38 -46', roof, 6),
    box([-26, -38], 36, 38, flat(look, shade(wall, -0.28))),
    stroke('M-26 0V-38H10V0M-26 0L10 -38M-26 -38L10 0', white, 2.4),
    box([-15, -70], 14, 13, pane(look)),
    stroke('M-15 -70h14v13h-14Z', white, 2),
    lamplight(look, -8, -62, 30),
  ];
  return parts.join('');
};

/** About 100 wide and 150 high. */
export const drawChurch: DrawThing = (look) => {
  const wall = look.main ?? rgb('#efe8da');
  const roof = look.trim ?? rgb('#5f6b7c');
  const arch = (x: number, y: number, wide: number, high: number): string =>
    path(`M${x} ${y}v${-high}a${wide / 2} ${wide / 2} 0 0 1 ${wide} 0v${high}Z`, pane(look));
  const parts = [
    box([-10, -52], 66, 52, tall(look, shade(wall, -0.08))),
    path('M-14 -50L-2 -78H48L60 -50Z', tall(look, roof)),
    box([-44, -92], 36, 92, round(look, wall, 0.22)),
    path('M-48 -90L-26 -146L-4 -90Z', round(look, roof)),
    stroke('M-26 -146V-162M-31 -156H-21', flat(look, rgb('#d8b65c')), 2.2),
    arch(-33, -58, 14, 14),
    arch(2, -18, 9, 16),
    arch(21, -18, 9, 16),
    arch(40, -18, 9, 16),
    path('M-34 0V-20A8 8 0 0 1 -18 -20V0Z', flat(look, rgb('#6a4632'))),
    lamplight(look, -26, -64, 30),
    lamplight(look, 26, -26, 40),
  ];
  return parts.join('');
};

/** About 110 wide and 150 high, sails included. */
export const drawWindmill: DrawThing = (look) => {
  const wall = look.main ?? rgb('#ead9bd');
  const cap = look.trim ?? rgb('#7a4b3a');
  const turn = look.random.between(8, 38);
  const wood = flat(look, rgb('#6a4a36'));
  const cloth = flat(look, rgb('#f4ecd8'));
  const sail = `${box([-2, -66], 4, 66, wood)}${box([2, -64], 13, 48, cloth, 'opacity="0.93"')}${stroke('M2 -52H15M2 -40H15M2 -28H15M8.500 -64V-16', wood, 0.9)}`;
  const sails = [0, 90, 180, 270].map(
    (angle) => `<g transform="rotate(${Math.round(turn + angle)})">${sail}</g>`,
  );
  const parts = [
    path('M-31 0L-19 -88H19L31 0Z', round(look, wall, 0.3)),
    path('M-23 -86C-22 -108 -8 -112 0 -112C8 -112 22 -108 23 -86Z', round(look, cap)),
    path('M-8 0V-20A8 8 0 0 1 8 -20V0Z', flat(look, rgb('#5e4030'))),
    window(look, -5, -56, 10, 12),
    box([-26, -34], 52, 3, flat(look, shade(cap, 0.1))),
    lamplight(look, 0, -50, 28),
    `<g transform="translate(0 -94)">${sails.join('')}</g>`,
    circle([0, -94], 4.5, flat(look, rgb('#4a3428'))),
  ];
  return parts.join('');
};

export const drawTent: DrawThing = (look) => {
  const cloth = look.main ?? look.random.pick(rgbs('#e08a3c #d8573e #e8c660 #4f8f8a'));
  const inside = look.isLamplit ? '#ffd58a' : flat(look, shade(cloth, -0.6));
  return [
    path('M-8 -52L52 -44L66 0H18Z', tall(look, shade(cloth, -0.22))),
    path('M-44 0L-8 -52L18 0Z', tall(look, shade(cloth, 0.08))),
    path('M-18 0L-8 -44L4 0Z', inside),
    path('M-18 0L-8 -44L-13 0Z', flat(look, shade(cloth, 0.2))),
    lamplight(look, -8, -16, 52),
  ].join('');
};

export const drawPyramid: DrawThing = (look) => {
  const stone = look.main ?? rgb('#dcb272');
  const [left, right] = look.side === -1 ? [0.16, -0.34] : [-0.34, 0.16];
  const courses = Array.from({ length: 11 }, (_, index) => {
    const up = (index + 1) * 10.5;
    const half = 104 * (1 - up / 126);
    return `M${-half} ${-up}L${half * 0.15} ${-up + 3}L${half} ${-up}`;
  });
  return [
    path(lines('-104 0, 0 -126, 18 0'), tall(look, shade(stone, left), 0.1)),
    path(lines('18 0, 0 -126, 104 0'), tall(look, shade(stone, right), 0.1)),
    stroke(courses.join(''), flat(look, shade(stone, -0.4)), 0.7, 'opacity="0.4"'),
    ellipse([0, 0], 104, 3, flat(look, shade(stone, -0.2)), 'opacity="0.3"'),
  ].join('');
};
