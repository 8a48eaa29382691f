/** People, standing. */
import { rgb, shade, type Colour } from '../../colour.ts';
import { circle, circles, curved, ellipse, path, stroke } from '../drawing.ts';
import { flat, round, type DrawThing } from './look.ts';

const ink = rgb('#2a2628');

/** Standing, about 30 wide and 86 high. */
export const drawPerson: DrawThing = (look) => {
  const coat =
    look.main ??
    look.random.pick<Colour>([
      rgb('#c8483e'),
      rgb('#3f6f9a'),
      rgb('#d8a43c'),
      rgb('#5a7a5a'),
      rgb('#7a5a8a'),
    ]);
  const skin = flat(look, look.random.pick<Colour>([rgb('#f0c8a4'), rgb('#c98f66'), rgb('#8a5a3c')]));
  const hair = flat(look, look.random.pick<Colour>([rgb('#3a2a24'), rgb('#7a4a2a'), rgb('#c89a50')]));
  const legs = flat(look, look.trim ?? rgb('#3a4254'));
  return [
    path('M-8 -34H8L9 0H2L0 -26L-3 0H-9Z', legs),
    path(
      curved('-12 -62, -7 -68, 7 -68, 12 -62, 13 -44, 12 -28, 0 -26, -12 -28, -13 -44'),
      round(look, coat),
    ),
    stroke('M-12 -60Q-19 -48 -16 -36M12 -60Q19 -48 16 -36', flat(look, shade(coat, -0.16)), 5.5),
    circle([-16, -34], 2.8, skin) + circle([16, -34], 2.8, skin),
    path('M-3 -72h6v6h-6Z', skin) + ellipse([0, -78], 8, 9.5, skin),
    path(curved('-9 -76, -9 -86, 0 -90, 9 -86, 9 -76, 5 -82, -4 -83'), hair),
    path(circles('-3 -77 1, 3 -77 1'), flat(look, ink)),
    stroke('M-3 -73Q0 -71 3 -73', flat(look, rgb('#a85a4a')), 1),
  ].join('');
};
