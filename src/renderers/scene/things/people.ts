/** What stands on two legs: people, robots, snowmen. */
import { ball, box, post, rod, ring, type Part } from './parts.ts';
import type { Look } from './look.ts';

const skins = ['#f0c8a4', '#d9a679', '#a9744c', '#7a4e33'] as const;

export function person(look: Look): Part[] {
  const skin = look.own(look.random.pick(skins));
  const hair = look.own(look.random.pick(['#2b1d14', '#5b3a20', '#1c1a1a', '#b98a4a']), 'cloth');
  const top = look.main(look.random.pick(['#3f6fb4', '#c9503c', '#4d8a63', '#d7a13a']), 'cloth');
  const trousers = look.trim('#39425a', 'cloth');
  const eye = look.own('#1a1512', 'glossy');
  return [
    ...[-1, 1].flatMap((side) => [
      rod([side * 0.1, 0.06, 0], [side * 0.09, 0.85, 0], [0.095, 0.075], trousers),
      ball([side * 0.1, 0.05, 0.05], [0.12, 0.1, 0.27], look.own('#3a2a20', 'glossy')),
      rod([side * 0.21, 1.36, 0], [side * 0.3, 1.08, 0.03], [0.055, 0.07], top),
      rod([side * 0.3, 1.08, 0.03], [side * 0.29, 0.84, 0.12], [0.045, 0.055], top),
      ball([side * 0.29, 0.8, 0.13], 0.11, skin),
      ball([side * 0.055, 1.66, 0.118], 0.028, eye),
    ]),
    ball([0, 1.2, 0], [0.4, 0.56, 0.27], top),
    ball([0, 1.36, 0], [0.46, 0.2, 0.25], top),
    ball([0, 0.92, 0], [0.36, 0.26, 0.27], trousers),
    post([0, 1.48, 0], [0.055, 0.065], 0.14, skin),
    ball([0, 1.64, 0], [0.24, 0.3, 0.26], skin),
    ball([0, 1.62, 0.135], [0.04, 0.05, 0.04], skin),
    ball([0, 1.69, -0.03], [0.27, 0.27, 0.26], hair),
  ];
}

export function robot(look: Look): Part[] {
  const body = look.main('#c3c9d0', 'metal');
  const dark = look.own('#3a4048', 'metal');
  const glow = look.trim('#38d6ff', 'glow');
  return [
    box([0, 1.4, 0], [0.46, 0.38, 0.38], body, [0, 0, 0], 0.07),
    box([0, 1.41, 0.18], [0.36, 0.2, 0.05], look.own('#14181e', 'glossy'), [0, 0, 0], 0.04),
    ...[-1, 1].flatMap((side) => [
      ball([side * 0.09, 1.42, 0.2], [0.085, 0.085, 0.04], glow),
      post([side * 0.25, 1.41, 0], 0.07, 0.06, dark, [0, 0, Math.PI / 2]),
      ball([side * 0.37, 1.07, 0], 0.19, dark),
      rod([side * 0.4, 1.05, 0], [side * 0.45, 0.78, 0.04], 0.065, body),
      ball([side * 0.45, 0.76, 0.04], 0.14, dark),
      rod([side * 0.45, 0.74, 0.05], [side * 0.44, 0.54, 0.17], 0.07, body),
      ball([side * 0.44, 0.5, 0.2], 0.15, dark),
      rod([side * 0.15, 0.55, 0], [side * 0.16, 0.3, 0.02], 0.075, body),
      ball([side * 0.16, 0.31, 0.02], 0.16, dark),
      rod([side * 0.16, 0.3, 0.02], [side * 0.16, 0.08, 0], 0.08, body),
      box([side * 0.16, 0.06, 0.05], [0.19, 0.12, 0.3], dark, [0, 0, 0], 0.05),
    ]),
    box([0, 0.9, 0], [0.6, 0.56, 0.42], body, [0, 0, 0], 0.09),
    box([0, 0.58, 0], [0.42, 0.14, 0.34], dark, [0, 0, 0], 0.05),
    post([0, 1.19, 0], 0.08, 0.08, dark),
    box([0, 0.96, 0.205], [0.3, 0.2, 0.04], dark, [0, 0, 0], 0.03),
    ...[-0.08, 0, 0.08].map((x, index) =>
      ball([x, 0.97, 0.23], 0.045, look.own(['#ff5a4a', '#ffd24a', '#5ee07a'][index] ?? '#ffffff', 'glow')),
    ),
    rod([0, 1.58, 0], [0, 1.74, 0], 0.014, dark),
    ball([0, 1.76, 0], 0.07, look.own('#ff5a4a', 'glow')),
  ];
}

export function snowman(look: Look): Part[] {
  const snow = look.main('#f7f9fc', 'matt');
  const coal = look.own('#1d1d20');
  const scarf = look.trim('#c8372d', 'cloth');
  return [
    ball([0, 0.42, 0], [0.95, 0.88, 0.95], snow),
    ball([0, 1.05, 0], [0.68, 0.64, 0.68], snow),
    ball([0, 1.5, 0], 0.46, snow),
    ring([0, 1.3, 0], 0.22, 0.06, scarf),
    box([0.12, 1.12, 0.31], [0.1, 0.34, 0.05], scarf, [-0.1, 0.2, 0.15], 0.02),
    post([0, 1.5, 0.34], [0.006, 0.045], 0.26, look.own('#ee7a22'), [Math.PI / 2, 0, 0]),
    ...[-1, 1].flatMap((side) => [
      ball([side * 0.08, 1.58, 0.2], 0.055, coal),
      rod([side * 0.3, 1.08, 0], [side * 0.72, 1.34, 0.05], 0.02, look.own('#5a3d28')),
      rod([side * 0.58, 1.25, 0.03], [side * 0.62, 1.42, 0.03], 0.014, look.own('#5a3d28')),
    ]),
    ...[0.9, 1.05, 1.18].map((y, index) => ball([0, y, [0.32, 0.345, 0.32][index] ?? 0.33], 0.055, coal)),
    post([0, 1.7, 0], 0.29, 0.03, coal),
    post([0, 1.85, 0], 0.19, 0.28, coal),
    post([0, 1.75, 0], 0.195, 0.06, scarf),
  ];
}
