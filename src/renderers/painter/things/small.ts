/** Small things of land, water and air: flowers, rocks, fences, mushrooms, snowmen, swans, whales, birds, butterflies. */
import { mix, rgb, rgbs, shade } from '../../colour.ts';
import { circle, circles, ellipse, lines, path, smooth, stroke, type Point } from '../drawing.ts';
import { ball, flat, round, tall, type DrawThing } from './look.ts';

/** About 14 wide and 34 high. */
export const drawFlower: DrawThing = (look) => {
  const { random } = look;
  const bloom = look.main ?? random.pick(rgbs('#e8506a #f6c843 #f4f0ff #a070d8 #f08a4a #f29ac0'));
  const heart = flat(
    look,
    look.trim ?? (bloom[0] > 230 && bloom[1] > 180 && bloom[2] < 120 ? rgb('#8a5a2c') : rgb('#f8d85a')),
  );
  const [lean, high] = [random.between(-4, 4), random.between(20, 34)];
  const stem = flat(look, rgb('#4f8a3c'));
  const petals = Array.from({ length: 6 }, (_, index) => {
    const turn = (index / 6) * Math.PI * 2 + lean;
    return [lean + Math.cos(turn) * 4.6, -high + Math.sin(turn) * 4.2, 3.7] as const;
  });
  return [
    stroke(`M0 0Q0 ${-high / 2} ${lean} ${-high}`, stem, 1.6),
    path(`M0 -4q9 -3 11 -10q-9 1 -11 10Z`, stem),
    path(circles(petals), flat(look, shade(bloom, -0.06))),
    path(
      circles(petals.slice(3, 6).map(([x, y, r]) => [x, y - 0.6, r * 0.6] as const)),
      flat(look, shade(bloom, 0.3)),
    ),
    circle([lean, -high], 2.9, heart),
  ].join('');
};

export const drawRock: DrawThing = (look) => {
  const stone = look.main ?? rgb('#8c8a88');
  const { random } = look;
  const top: Point[] = [
    [-34, 0],
    [-30, -14 - random.between(0, 8)],
    [-12, -28 - random.between(0, 10)],
    [10, -30 - random.between(0, 8)],
    [30, -14],
    [36, 0],
  ];
  const [peak = [0, -30] as Point, far = [10, -30] as Point] = top.slice(2, 4);
  const facet =
    look.side === 1
      ? ([peak, far, [30, -14], [36, 0], [6, -10]] as Point[])
      : ([far, peak, [-30, -16], [-34, 0], [-4, -10]] as Point[]);
  return (
    path(lines(top), tall(look, shade(stone, -0.22))) + path(lines(facet), tall(look, shade(stone, 0.14)))
  );
};

/** Five panels, 230 wide. */
export const drawFence: DrawThing = (look) => {
  const wood = look.main ?? rgb('#f2ece0');
  const posts = [-110, -66, -22, 22, 66, 110].map((x) => `M${x - 3.5} 0v-30l3.500 -5l3.500 5v30Z`);
  const rails = 'M-112 -12h224v4h-224ZM-112 -25h224v4h-224Z';
  return path(rails, flat(look, shade(wood, -0.14))) + path(posts.join(''), tall(look, wood, 0.16));
};

export const drawMushroom: DrawThing = (look) => {
  const cap = look.main ?? rgb('#cc4038');
  return [
    path('M-6 0C-4 -10 -4 -16 -5 -22H5C4 -16 4 -10 6 0Z', round(look, rgb('#f0e6d2'))),
    path('M-20 -20C-20 -42 20 -42 20 -20C10 -16 -10 -16 -20 -20Z', ball(look, cap)),
    path(circles('-9 -27 2.8, 2 -32 3.2, 11 -25 2.4'), flat(look, rgb('#fbf4e6'))),
  ].join('');
};

/** About 60 wide and 100 high. */
export const drawSnowman: DrawThing = (look) => {
  const snow = rgb('#f8fbff');
  const coal = flat(look, rgb('#2c2c34'));
  return [
    stroke('M-18 -50L-40 -64M-34 -60L-38 -54M18 -50L40 -66M34 -61L40 -57', flat(look, rgb('#6a4a36')), 2.6),
    circle([0, -22], 25, ball(look, snow)),
    circle([0, -54], 18, ball(look, snow)),
    circle([0, -80], 13.5, ball(look, snow)),
    path('M-14 -91H14V-94H9V-110H-9V-94H-14Z', coal),
    path(circles('-4.5 -83 1.7, 4.5 -83 1.7, 0 -48 2, 0 -56 2, 0 -26 2'), coal),
    path('M0 -80L17 -77L0 -76Z', flat(look, rgb('#ee8a3a'))),
    stroke('M-12 -69Q0 -63 12 -69M8 -67L12 -52', flat(look, look.main ?? rgb('#c8403a')), 5),
  ].join('');
};

/** Facing right on the water; about 62 wide and 56 high. */
export const drawSwan: DrawThing = (look) => {
  const plume = look.main ?? rgb('#fbfaf6');
  const wing = flat(look, shade(plume, -0.1));
  return [
    stroke('M20 -12C34 -24 14 -38 22 -48C26 -54 32 -52 33 -47', flat(look, plume), 6),
    path('M33 -51L43 -45L33 -44Z', flat(look, rgb('#ee8a3a'))) +
      circle([31, -49], 1.2, flat(look, rgb('#202024'))),
    path(
      'M-36 -16C-30 -6 -20 4 0 4C18 4 28 -4 26 -14C20 -24 -8 -26 -20 -18C-26 -16 -32 -20 -36 -16Z',
      tall(look, plume, 0.2),
    ),
    path('M-32 -24C-20 -16 -10 -8 6 -6C14 -8 16 -14 10 -18C-4 -26 -20 -26 -32 -24Z', wing),
  ].join('');
};

/** A back and a tail above the water; about 150 wide. */
export const drawWhale: DrawThing = (look) => {
  const skin = look.main ?? rgb('#40597a');
  const spray = flat(look, rgb('#eaf4fa'));
  return [
    stroke('M44 -30C40 -52 28 -58 20 -56M44 -30C48 -52 60 -58 68 -56M44 -30V-62', spray, 3, 'opacity="0.7"'),
    path(
      'M-76 4C-66 -14 -72 -30 -92 -40C-78 -44 -68 -40 -64 -34C-62 -42 -54 -48 -42 -48C-54 -38 -58 -18 -48 4Z',
      tall(look, skin),
    ),
    path('M-40 4C-20 -24 20 -36 52 -28C76 -22 84 -8 84 4Z', tall(look, skin, 0.3)),
    circle([66, -8], 2, '#f4f8fa'),
    stroke('M84 -2Q70 2 58 0', flat(look, shade(skin, 0.5)), 1.4),
  ].join('');
};

/** Wings spread, about 44 wide. */
export const drawBird: DrawThing = (look) => {
  const plume = look.main ?? rgb('#4a4a5c');
  const lift = look.random.between(6, 15);
  const wing = (side: -1 | 1): string =>
    `M0 0Q${side * 8} ${-lift - 3} ${side * 23} ${-lift + 2}Q${side * 10} ${-lift + 5} 0 4Z`;
  return (
    path(wing(-1) + wing(1), flat(look, plume)) +
    ellipse([0, 1.5], 3.2, 2.4, flat(look, plume)) +
    path('M2 0l6 2l-6 1.500Z', flat(look, mix(plume, rgb('#e09a3c'), 0.6)))
  );
};

export const drawButterfly: DrawThing = (look) => {
  const wing = look.main ?? look.random.pick(rgbs('#f08a3c #5a8ad8 #f2c84a #c86ab0'));
  const half = (side: -1 | 1): string =>
    path(
      `${smooth([
        [0, -2],
        [side * 8, -18],
        [side * 19, -16],
        [side * 16, -4],
        [side * 4, 0],
      ])}Z`,
      flat(look, wing),
    ) +
    path(
      `${smooth([
        [0, 0],
        [side * 12, 0],
        [side * 13, 10],
        [side * 5, 12],
        [0, 3],
      ])}Z`,
      flat(look, shade(wing, -0.14)),
    ) +
    path(
      circles([
        [side * 12, -11, 2.2],
        [side * 8, 5, 1.7],
      ]),
      flat(look, look.trim ?? shade(wing, 0.6)),
    );
  return half(-1) + half(1) + stroke('M0 -6V8M0 -6L-4 -14M0 -6L4 -14', flat(look, rgb('#2c2426')), 1.6);
};
