/** What people travel in: boats, ships, cars, trains, balloons, planes and rockets; and kites. */
import { rgb, rgbs, shade } from '../../colour.ts';
import { box, circle, circles, dots, ellipse, path, stroke } from '../drawing.ts';
import { air, land, water, flat, lamplight, pane, round, smoke, tall } from './look.ts';

export const craft = {
  sailboat: water(50, 1.35, '#faf5e8', (look, sail) => {
    const hull =
      look.trim ??
      (look.main === undefined ? look.random.pick(rgbs('#b5483c #2f5d86 #8a5a3a #f0ead8')) : rgb('#f2ead8'));
    return [
      box([-3, -108], 2.6, 98, flat(look, '#6a4a36')),
      path('M2 -104C26 -80 38 -46 40 -20L2 -16Z', round(look, sail, 0.2)),
      path('M-6 -98C-18 -70 -34 -40 -44 -20L-6 -17Z', flat(look, sail, -0.12)),
      stroke('M2 -84L18 -81M2 -62L29 -58M2 -40L36 -36', flat(look, sail, -0.25), 0.9, 0.6),
      path('M-48 -14H50C45 -3 38 4 26 5H-30C-40 3 -45 -6 -48 -14Z', tall(look, hull, 0.3)),
      stroke('M-47 -11H48', flat(look, hull, 0.5), 2),
      path('M-3 -110l16 3.5l-16 4Z', flat(look, '#d8504a')),
      lamplight(look, -2, -12, 20),
    ];
  }),
  boat: water(46, 1.5, '#8f5f3c #a8483c #2f6a86', (look, hull) => [
    path('M-44 -18Q0 -8 44 -18L38 -13H-38Z', flat(look, hull, -0.5)),
    path('M-46 -19C-40 -4 -30 4 -22 5H22C32 4 41 -5 46 -19Q0 -7 -46 -19Z', tall(look, hull, 0.3)),
    stroke('M-46 -19Q0 -7 46 -19', flat(look, look.trim ?? shade(hull, 0.45)), 2.6),
    stroke('M-8 -18L-34 6M8 -18L36 6', flat(look, '#c9a878'), 2.2),
  ]),
  ship: water(88, 1.25, '#33425c, #c2483c', (look, hull, funnel) => {
    const holes = circles([-60, -44, -28, -12, 4, 20, 36, 52].map((x) => [x, -16, 2.4] as const));
    const panes = [-40, -28, -16, -4, 8, 20, 32].map((x) => box([x, -45], 7, 6, pane(look)));
    return [
      smoke(look, -8, -92),
      box([-48, -50], 96, 20, flat(look, '#f4efe6')),
      box([-36, -64], 66, 15, flat(look, '#e6e0d4')),
      box([-18, -88], 16, 26, round(look, funnel)),
      box([10, -84], 14, 22, round(look, funnel)),
      ...panes,
      path('M-84 -32H92C86 -14 78 0 70 5H-70C-78 -2 -82 -16 -84 -32Z', tall(look, hull, 0.25)),
      path('M-74 0Q0 2 74 0L70 5H-70Z', flat(look, '#a83c34')),
      path(holes, pane(look)),
      lamplight(look, 0, -36, 70),
    ];
  }),
  balloon: air(46, 1.5, 106, '#d9483f #e9a23b #3f7fb8 #5b9a68 #8a5aa8 #e06a86', (look, main) => {
    const envelope =
      'M0 -104C26 -104 38 -84 37 -66C36 -46 20 -34 9 -22H-9C-20 -34 -36 -46 -37 -66C-38 -84 -26 -104 0 -104Z';
    const shadow = look.drawing.radialAround(
      [0.5 + look.side * 0.16, 0.34],
      [0, [255, 255, 255], 0.32],
      [0.5, [255, 255, 255], 0],
      [0.75, [20, 16, 50], 0.1],
      [1, [20, 16, 50], 0.42],
    );
    return [
      look.isLamplit ? look.drawing.glow([0, -50], 54, 58, rgb('#ffb050'), 0.55) : '',
      path(envelope, flat(look, main)),
      path(gore(26), flat(look, look.trim ?? (look.main === undefined ? rgb('#f6e3b4') : shade(main, 0.62)))),
      path(gore(13), flat(look, main)),
      path(envelope, shadow),
      stroke('M-8 -22L-6 -8M8 -22L6 -8M0 -22V-8', flat(look, '#5a4434'), 0.8),
      path('M-7.5 -9H7.5L6 2H-6Z', round(look, '#9a6a3c')),
    ];
  }),
  kite: air(34, 1.4, 36, '#e0483f #f0b43c #3f8fc0 #8a5ab0', (look, main) => {
    const second = flat(look, look.trim ?? shade(main, 0.4));
    return [
      stroke('M0 30C10 44 -8 54 4 68C12 80 -4 88 2 100', flat(look, main, -0.2), 1.2),
      path(
        'M4 46l-7 -4v8l7 -4l7 -4v8ZM-1 60l-7 -4v8l7 -4l7 -4v8ZM6 76l-7 -4v8l7 -4l7 -4v8ZM1 92l-7 -4v8l7 -4l7 -4v8Z',
        second,
      ),
      path('M0 -34L22 -8L0 30L-22 -8Z', flat(look, main)),
      path('M0 -34L22 -8H0ZM0 30L-22 -8H0Z', second),
      stroke('M0 -34V30M-22 -8H22', flat(look, main, -0.4), 1),
    ];
  }),
  plane: air(62, 1.3, 36, '#f2f2f0, #c8483e', (look, body, trim) => [
    path('M-6 -4L-40 20H-28L14 -2Z', flat(look, body, -0.3)),
    path('M-46 -14L-58 -34H-48L-32 -12Z', flat(look, trim)),
    path('M56 -4C50 -14 30 -15 10 -15H-46C-56 -14 -58 -8 -50 -5C-30 1 40 3 56 -4Z', tall(look, body)),
    path('M4 -6L-18 -30H-8L24 -6Z', flat(look, body, -0.1)),
    dots(
      [-30, -20, -10, 0, 10, 20, 30].map((x) => [x, -9, 1.8] as const),
      pane(look),
    ),
  ]),
  rocket: air(48, 1.6, 114, '#f2efe8, #d8483e', (look, body, trim) => [
    path(
      'M-10 0Q-16 24 0 58Q16 24 10 0Z',
      look.drawing.linear([0, rgb('#fff2b0')], [0.4, rgb('#ffa43c')], [1, rgb('#ff5a2a'), 0]),
    ),
    path('M-15 -26L-32 4L-13 -4ZM15 -26L32 4L13 -4Z', flat(look, trim)),
    path('M0 -112C20 -88 22 -40 14 -2H-14C-22 -40 -20 -88 0 -112Z', round(look, body)),
    path('M0 -112C8 -103 13 -93 16 -82H-16C-13 -93 -8 -103 0 -112Z', round(look, trim)),
    circle([0, -60], 9, flat(look, trim, -0.3)),
    circle([0, -60], 6.5, pane(look)),
  ]),
  car: land(60, [0.55, 0.75], 1.3, '#d8483e #e8b83c #3f86a8 #e6ddc8', (look, paint) => [
    path('M-26 -26C-20 -42 -14 -45 -2 -45H12C24 -45 29 -36 36 -26Z', flat(look, paint, -0.12)),
    path('M-21 -27C-17 -37 -12 -40 -4 -40H2V-27ZM6 -40H12C20 -40 25 -34 30 -27H6Z', pane(look)),
    path('M-56 -10C-57 -22 -46 -26 -28 -27H38C52 -26 58 -20 57 -8H-56Z', tall(look, paint, 0.3)),
    ...[-33, 33].map(
      (x) => circle([x, -9], 11, flat(look, '#2c2c32')) + circle([x, -9], 5, flat(look, '#b8bcc4')),
    ),
    circle([55, -17], 3, '#fff0b8'),
    look.isLamplit
      ? path(
          'M56 -18L150 -34V4Z',
          look.drawing.linearAlong([0, 0, 1, 0], [0, rgb('#fff0b8'), 0.5], [1, rgb('#fff0b8'), 0]),
        )
      : '',
  ]),
  train: land(140, [0.3, 0.45], 1.3, '#b5403a', (look, paint) => {
    const coach = (x: number): string =>
      box([x, -46], 74, 36, tall(look, paint), 'rx="4"') +
      box([x, -49], 74, 6, flat(look, '#33343c'), 'rx="3"') +
      [8, 25, 42, 59].map((dx) => box([x + dx, -38], 10, 12, pane(look))).join('');
    const wheels = circles([-116, -78, -34, 2, 50, 72, 96].map((x) => [x, -7, 8] as const));
    return [
      smoke(look, 96, -66),
      stroke('M-150 1H140', flat(look, '#33343c'), 2),
      coach(-134),
      coach(-54),
      box([28, -58], 34, 48, tall(look, paint), 'rx="3"') +
        box([25, -62], 40, 6, flat(look, '#33343c')) +
        box([36, -50], 16, 14, pane(look)),
      box([60, -42], 50, 30, round(look, shade(paint, -0.35)), 'rx="6"'),
      box([91, -62], 11, 22, flat(look, '#33343c')) + ellipse([96.5, -62], 9, 3, flat(look, '#33343c')),
      path('M108 -10H126L110 -24Z', flat(look, '#33343c')),
      path(wheels, flat(look, '#33343c')),
      lamplight(look, 0, -30, 60),
    ];
  }),
};

/** An upright strip of the envelope. */
function gore(half: number): string {
  return `M0 -104C${half * 0.9} -104 ${half} -84 ${half} -66C${half} -46 ${half * 0.5} -34 ${half * 0.24} -22H${-half * 0.24}C${-half * 0.5} -34 ${-half} -46 ${-half} -66C${-half} -84 ${-half * 0.9} -104 0 -104Z`;
}
