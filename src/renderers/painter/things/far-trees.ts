/** Trees seen from afar, in few strokes: a wood has hundreds of them. */
import { rgb, shade } from '../../colour.ts';
import { circles, lines, path } from '../drawing.ts';
import { blend, flat, type DrawThing } from './look.ts';
import { leafColour } from './trees.ts';

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
