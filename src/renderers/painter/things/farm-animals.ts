/** Horses, cows and sheep, seen from the side. */
import { rgb, shade, type Colour } from '../../colour.ts';
import { circle, circles, curved, ellipse, path, stroke } from '../drawing.ts';
import { flat, tall, type DrawThing } from './look.ts';

const ink = rgb('#2a2628');

/** Facing right; about 112 wide and 100 high. */
export const drawHorse: DrawThing = (look) => {
  const coat =
    look.main ?? look.random.pick<Colour>([rgb('#8a5232'), rgb('#6a4430'), rgb('#c79a6a'), rgb('#e9e2d6')]);
  const mane = flat(look, look.trim ?? shade(coat, coat[0] > 200 ? -0.2 : -0.5));
  const far = flat(look, shade(coat, -0.35));
  return [
    path(hindLeg(-22), far) + path(foreLeg(12), far),
    path(curved('-37 -60, -50 -50, -52 -30, -47 -16, -44 -32, -40 -48'), mane),
    path(hindLeg(-33), flat(look, shade(coat, -0.08))) + path(foreLeg(22), flat(look, shade(coat, -0.08))),
    path(
      curved(
        '-38 -56, -30 -65, -12 -62, 8 -60, 20 -66, 30 -84, 40 -96, 50 -93, 62 -76, 60 -69, 53 -69, 44 -74, 39 -60, 30 -42, 8 -36, -14 -36, -34 -40',
      ),
      tall(look, coat, 0.22),
    ),
    path('M41 -93L43 -105L49 -93Z', flat(look, coat)),
    path(curved('44 -98, 34 -92, 24 -76, 14 -62, 22 -62, 32 -76, 40 -88'), mane),
    path(circles('48.5 -86 1.8'), flat(look, ink)) + path(circles('59 -73 1.1'), flat(look, ink)),
    ...[-29, -18, 15, 26].map((x) => path(`M${x - 8} 0v-4h7.500v4Z`, flat(look, ink))),
  ].join('');
};

function hindLeg(x: number): string {
  return `M${x - 4} -46L${x + 12} -44L${x + 4} -24V0H${x - 3}L${x - 4} -22Z`;
}

function foreLeg(x: number): string {
  return `M${x - 6} -44L${x + 8} -44L${x + 4} -22V0H${x - 3}V-22Z`;
}

/** Facing right; about 112 wide and 84 high. */
export const drawCow: DrawThing = (look) => {
  const coat = look.main ?? rgb('#f4efe6');
  const patch = flat(look, look.trim ?? (coat[0] > 200 ? rgb('#3a3236') : shade(coat, 0.6)));
  const far = flat(look, shade(coat, -0.35));
  return [
    path(cowLeg(-22) + cowLeg(22), far),
    stroke('M-42 -58C-52 -50 -48 -34 -50 -24', flat(look, shade(coat, -0.2)), 3) +
      circle([-50, -22], 3.6, patch),
    path(cowLeg(-34) + cowLeg(30), flat(look, shade(coat, -0.1))),
    path(
      curved('-44 -54, -38 -66, 0 -64, 34 -66, 44 -52, 38 -32, 10 -26, -30 -28, -44 -38'),
      tall(look, coat, 0.2),
    ),
    path(
      curved('-36 -62, -18 -64, -12 -50, -24 -40, -38 -46') + curved('6 -60, 24 -62, 28 -46, 14 -36, 4 -46'),
      patch,
    ),
    path(curved('38 -66, 48 -74, 58 -70, 66 -54, 62 -46, 52 -48, 42 -54'), flat(look, coat)),
    path(curved('58 -56, 67 -54, 66 -46, 58 -46'), flat(look, rgb('#e6b0a4'))),
    path(curved('42 -72, 32 -74, 34 -67, 42 -66'), patch),
    stroke('M46 -74Q44 -84 49 -86M54 -74Q56 -83 60 -84', flat(look, rgb('#d8cdb8')), 2.6),
    circle([53, -64], 1.8, flat(look, ink)),
    ellipse([-8, -26], 9, 5, flat(look, rgb('#e6b0a4'))),
  ].join('');
};

function cowLeg(x: number): string {
  return `M${x - 5} -34h11l-2 34h-7Z`;
}

/** Facing right; about 66 wide and 52 high. */
export const drawSheep: DrawThing = (look) => {
  const wool = look.main ?? rgb('#f6f2e8');
  const dark = flat(look, look.trim ?? (wool[0] < 90 ? rgb('#1e1c20') : rgb('#3c3638')));
  const heaps = [
    [-22, -28, 12],
    [-12, -37, 13],
    [3, -39, 13],
    [16, -33, 12],
    [20, -24, 11],
    [-22, -20, 10],
    [-6, -19, 12],
    [10, -19, 12],
    [0, -28, 15],
  ] as const;
  const lit = heaps.slice(0, 5).map(([x, y, r]) => [x + look.side * 2, y - 2, r * 0.7] as const);
  return [
    path('M-18 -14h5v14h-5ZM-8 -12h5v12h-5ZM8 -12h5v12h-5ZM16 -14h5v14h-5Z', dark),
    path(circles(heaps), flat(look, shade(wool, -0.16))),
    path(circles(lit), flat(look, shade(wool, 0.2))),
    path(curved('24 -40, 34 -42, 40 -32, 37 -24, 29 -25'), dark),
    path(curved('26 -40, 18 -40, 20 -35, 27 -36'), dark),
    path(circles('26 -42 6, 21 -40 5'), flat(look, shade(wool, 0.1))),
    circle([34, -35], 1.3, '#ffffff'),
  ].join('');
};
