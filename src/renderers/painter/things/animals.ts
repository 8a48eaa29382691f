/** Cats, dogs, rabbits and owls, sitting. */
import { rgb, shade, type Colour } from '../../colour.ts';
import { circle, curved, ellipse, lines, path, stroke } from '../drawing.ts';
import { flat, round, type DrawThing } from './look.ts';

const ink = rgb('#2a2628');

/** Sitting, seen from the front; about 56 wide and 82 high. */
export const drawCat: DrawThing = (look) => {
  const fur =
    look.main ?? look.random.pick<Colour>([rgb('#d98a3e'), rgb('#8a8f98'), rgb('#4a4448'), rgb('#e6d4b8')]);
  const pale = look.trim ?? shade(fur, 0.55);
  const isDark = fur[0] < 80;
  const eye = flat(look, rgb(isDark ? '#f2d24a' : '#4a8a4a'));
  const ears = [-1, 1].map(
    (side) =>
      path(
        lines([
          [side * 17, -66],
          [side * 15, -87],
          [side * 3, -74],
        ]),
        flat(look, fur),
      ) +
      path(
        lines([
          [side * 14.5, -71],
          [side * 13.5, -81],
          [side * 7, -74.5],
        ]),
        flat(look, rgb('#e8a8a0')),
      ),
  );
  const whiskers = 'M-7 -52L-24 -55M-7 -50L-24 -49M7 -52L24 -55M7 -50L24 -49';
  const bands = 'M-4 -76V-70M0 -77V-69M4 -76V-70M-21 -30H-13M-22 -22H-14M21 -30H13M22 -22H14';
  return [
    stroke('M18 -6C40 -2 42 -22 32 -34C28 -40 36 -46 38 -40', flat(look, shade(fur, -0.1)), 8),
    path(curved('-22 -2, -24 -20, -15 -44, 0 -50, 15 -44, 24 -20, 22 -2, 0 1'), round(look, fur)),
    path(curved('-9 -10, -10 -30, 0 -42, 10 -30, 9 -10, 0 -4'), flat(look, pale), 'opacity="0.75"'),
    stroke('M-7 -2V-24M7 -2V-24M0 -3V-16', flat(look, shade(fur, -0.35)), 1.1, 'opacity="0.6"'),
    ellipse([-8, -1], 7, 4, flat(look, pale)) + ellipse([8, -1], 7, 4, flat(look, pale)),
    ...ears,
    ellipse([0, -59], 20, 17, round(look, fur, 0.2)),
    stroke(bands, flat(look, shade(fur, -0.32)), 1.8, 'opacity="0.55"'),
    ellipse([0, -52], 9, 6.5, flat(look, pale)),
    ...[-8, 8].map(
      (x) =>
        ellipse([x, -61], 4.2, 4.6, eye) +
        ellipse([x, -61], 1.5, 4, flat(look, ink)) +
        circle([x + 1, -63], 1.1, '#ffffff'),
    ),
    path('M-2.500 -55H2.500L0 -52Z', flat(look, rgb('#d07a78'))),
    stroke('M0 -52Q-3 -48 -6 -50M0 -52Q3 -48 6 -50', flat(look, ink), 0.9),
    stroke(whiskers, flat(look, rgb('#f6f2ea')), 0.6, 'opacity="0.8"'),
  ].join('');
};

/** Sitting, seen from the front; about 58 wide and 84 high. */
export const drawDog: DrawThing = (look) => {
  const fur =
    look.main ?? look.random.pick<Colour>([rgb('#b9803f'), rgb('#e2c48e'), rgb('#6a4a36'), rgb('#d9a25a')]);
  const pale = shade(fur, 0.5);
  const ear = flat(look, shade(fur, -0.35));
  return [
    stroke('M20 -10C34 -14 38 -26 36 -36', flat(look, shade(fur, -0.1)), 7),
    path(curved('-23 -2, -24 -18, -16 -42, 0 -50, 16 -42, 24 -18, 23 -2, 0 1'), round(look, fur)),
    path(curved('-9 -14, -10 -32, 0 -44, 10 -32, 9 -14, 0 -8'), flat(look, pale), 'opacity="0.85"'),
    stroke('M-8 -2V-26M8 -2V-26', flat(look, shade(fur, -0.4)), 1.2, 'opacity="0.55"'),
    ellipse([-9, -1], 8, 4.5, flat(look, pale)) + ellipse([9, -1], 8, 4.5, flat(look, pale)),
    ellipse([0, -62], 18, 18, round(look, fur, 0.2)),
    path(curved('-13 -76, -23 -72, -27 -54, -20 -46, -15 -58'), ear) +
      path(curved('13 -76, 23 -72, 27 -54, 20 -46, 15 -58'), ear),
    ellipse([0, -53], 10.5, 9, flat(look, pale)),
    ...[-7, 7].map((x) => circle([x, -65], 2.8, flat(look, ink)) + circle([x + 0.9, -66], 0.9, '#ffffff')),
    ellipse([0, -57], 4.2, 3, flat(look, ink)),
    path('M-3.500 -48Q0 -37 3.500 -48Z', flat(look, rgb('#e07a80'))),
    stroke('M0 -54V-50Q-4 -46 -7 -49M0 -50Q4 -46 7 -49', flat(look, ink), 1),
    stroke('M-14 -45Q0 -39 14 -45', flat(look, look.trim ?? rgb('#d0483e')), 3.2),
  ].join('');
};

/** Sitting, about 40 wide and 62 high. */
export const drawRabbit: DrawThing = (look) => {
  const fur = look.main ?? look.random.pick<Colour>([rgb('#c8b49a'), rgb('#f2ede4'), rgb('#9a8a7a')]);
  const pink = flat(look, rgb('#eab0aa'));
  const ear = (x: number, lean: number): string =>
    `<g transform="rotate(${lean} ${x} -40)">${ellipse([x, -54], 4.2, 14, flat(look, fur))}${ellipse([x, -53], 2, 10, pink)}</g>`;
  return [
    circle([-17, -9], 6, flat(look, shade(fur, 0.7))),
    path(curved('-18 -2, -18 -18, -6 -30, 10 -26, 18 -12, 17 -1, 0 0'), round(look, fur)),
    ear(2, -12) + ear(10, 10),
    ellipse([8, -32], 13, 11.5, round(look, fur, 0.2)),
    ellipse([15, -2], 7, 3.4, flat(look, shade(fur, 0.25))) +
      ellipse([-8, -2], 10, 4, flat(look, shade(fur, 0.1))),
    circle([12, -34], 2.2, flat(look, ink)) + circle([12.8, -34.8], 0.7, '#ffffff'),
    path('M18.500 -31h4l-2 2.500Z', pink),
  ].join('');
};

/** On a stump, about 40 wide and 70 high. */
export const drawOwl: DrawThing = (look) => {
  const plume = look.main ?? rgb('#8a6a4c');
  const pale = flat(look, look.trim ?? shade(plume, 0.5));
  const marks = [-26, -34, -42].flatMap((y) => [-8, 0, 8].map((x) => `M${x - 3} ${y}q3 4 6 0`)).join('');
  return [
    path('M-16 0L-13 -14H13L16 0Z', round(look, rgb('#6a4e3a'))) +
      ellipse([0, -14], 13, 3, flat(look, rgb('#c9a77c'))),
    path('M-15 -72L-8 -64H8L15 -72C20 -50 20 -24 0 -14C-20 -24 -20 -50 -15 -72Z', round(look, plume)),
    ellipse([0, -34], 11, 17, pale) + stroke(marks, flat(look, shade(plume, -0.2)), 1.1),
    ...[-6.5, 6.5].map(
      (x) =>
        circle([x, -56], 7, pale) +
        circle([x, -56], 5, '#f4c542') +
        circle([x, -56], 2.8, '#201c20') +
        circle([x + 1, -57.5], 1, '#ffffff'),
    ),
    path('M-2.500 -53H2.500L0 -47Z', flat(look, rgb('#e0953c'))),
    stroke('M-5 -14v-3M-2 -14v-3M3 -14v-3M6 -14v-3', flat(look, rgb('#d9953c')), 1.6),
  ].join('');
};
