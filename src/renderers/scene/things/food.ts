/** What is eaten: fruit, a pumpkin, cake. */
import type { Look } from './look.ts';
import { ball, bend, post, ring, rod, turned, type Part } from './parts.ts';

export function apple(look: Look): Part[] {
  return [
    ...roundFruit(look, '#cf2f2a', 0.08),
    ball([0.022, 0.088, 0], [0.04, 0.006, 0.02], look.trim('#4f8f3a'), [0, 0, 0.4]),
  ];
}

export function orange(look: Look): Part[] {
  return roundFruit(look, '#f08a24', 0.078);
}

export function cherry(look: Look): Part[] {
  const red = look.main('#a8182c', 'glossy');
  return [
    ball([-0.014, 0.012, 0], 0.024, red),
    ball([0.016, 0.012, 0.006], 0.024, red),
    rod([-0.014, 0.02, 0], [0.006, 0.062, 0], 0.0012, look.own('#4f7a32')),
    rod([0.016, 0.02, 0.006], [0.006, 0.062, 0], 0.0012, look.own('#4f7a32')),
  ];
}

function roundFruit(look: Look, colour: string, wide: number): Part[] {
  const r = wide / 2;
  return [
    turned(
      [0, 0, 0],
      [
        [0, r * 0.16],
        [r * 0.4, 0],
        [r * 0.82, r * 0.35],
        [r, r * 1],
        [r * 0.86, r * 1.55],
        [r * 0.45, r * 1.86],
        [0, r * 1.62],
      ],
      look.main(colour, 'glossy'),
    ),
    rod([0, r * 1.6, 0], [r * 0.16, r * 2.15, 0], r * 0.06, look.own('#5a3d24')),
  ];
}

export function lemon(look: Look): Part[] {
  const peel = look.main('#f4d338', 'plastic');
  return [
    ball([0, 0.034, 0], [0.09, 0.068, 0.068], peel),
    ball([0.045, 0.034, 0], 0.022, peel),
    ball([-0.043, 0.034, 0], 0.018, peel),
  ];
}

export function pear(look: Look): Part[] {
  return [
    turned(
      [0, 0, 0],
      '0 0.004, 0.02 0, 0.04 0.025, 0.04 0.05, 0.024 0.085, 0.016 0.11, 0 0.118',
      look.main('#b8c24a', 'glossy'),
    ),
    rod([0, 0.115, 0], [0.008, 0.14, 0], 0.0025, look.own('#5a3d24')),
  ];
}

export function banana(look: Look): Part[] {
  const peel = look.main('#f3cf3e', 'plastic');
  return [
    bend('-0.09 0.062 0, -0.05 0.028 0, 0 0.018 0, 0.05 0.028 0, 0.088 0.06 0', 0.018, peel),
    ball([0.092, 0.066, 0], 0.02, look.own('#5a4420')),
    ball([-0.094, 0.068, 0], 0.024, look.own('#7a6a2a')),
  ];
}

export function pumpkin(look: Look): Part[] {
  const skin = look.main('#e67e22', 'plastic');
  const ribs = Array.from({ length: 10 }, (_, index): Part => {
    const angle = (index / 10) * Math.PI * 2;
    return ball([Math.cos(angle) * 0.075, 0.12, Math.sin(angle) * 0.075], [0.19, 0.24, 0.13], skin, [
      0,
      -angle,
      0,
    ]);
  });
  return [...ribs, rod([0, 0.21, 0], [0.02, 0.29, 0], [0.016, 0.03], look.trim('#5f7a35'))];
}

export function watermelon(look: Look): Part[] {
  const stripes = [0, 1, 2, 3, 4, 5].map((step) =>
    ring([0, 0.14, 0], 0.136, 0.009, look.trim('#1f4d28', 'glossy'), [step * 0.52, 0, 0]),
  );
  return [ball([0, 0.14, 0], 0.28, look.main('#4f9a48', 'glossy')), ...stripes];
}

export function pineapple(look: Look): Part[] {
  const skin = look.main('#d8982e', 'plastic');
  const scales = Array.from({ length: 60 }, (_, index): Part => {
    const [angle, y] = [index * 2.39996, 0.02 + (index / 60) * 0.19];
    const out = 0.068 * Math.sqrt(Math.max(0.25, 1 - ((y - 0.11) / 0.13) ** 2));
    return ball([Math.cos(angle) * out, y, Math.sin(angle) * out], 0.032, skin);
  });
  const leaves = Array.from({ length: 14 }, (_, index): Part => {
    const [angle, lean] = [index * 2.4, 0.015 + (index / 14) * 0.075];
    return rod(
      [Math.cos(angle) * 0.015, 0.21, Math.sin(angle) * 0.015],
      [Math.cos(angle) * lean, 0.38 - (index / 14) * 0.08, Math.sin(angle) * lean],
      [0.001, 0.014],
      look.trim('#4f8f45'),
    );
  });
  return [ball([0, 0.11, 0], [0.14, 0.23, 0.14], skin), ...scales, ...leaves];
}

export function cake(look: Look): Part[] {
  const cream = look.main('#f8e6ea', 'matt');
  const drops = Array.from({ length: 14 }, (_, index): Part => {
    const angle = (index / 14) * Math.PI * 2;
    return ball(
      [Math.cos(angle) * 0.13, 0.165, Math.sin(angle) * 0.13],
      [0.045, 0.04, 0.045],
      look.trim('#e8688a'),
    );
  });
  return [
    post([0, 0.008, 0], 0.22, 0.016, look.own('#eceae4', 'glossy')),
    post([0, 0.05, 0], 0.16, 0.07, look.own('#8a5532')),
    post([0, 0.125, 0], 0.16, 0.08, cream),
    ...drops,
    ...[0, 1, 2].flatMap((index) => [
      post(
        [Math.cos(index * 2.1) * 0.06, 0.2, Math.sin(index * 2.1) * 0.06],
        0.006,
        0.075,
        look.own('#5fa0d8'),
      ),
      ball(
        [Math.cos(index * 2.1) * 0.06, 0.25, Math.sin(index * 2.1) * 0.06],
        [0.014, 0.028, 0.014],
        look.own('#ffc64a', 'glow'),
      ),
    ]),
  ];
}
