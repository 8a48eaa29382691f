/** What stands on two legs: people, robots, snowmen; birds, and what swims. */
import { ball, both, box, forward, post, ring, rod, sideways, slab } from './parts.ts';
import { air, land, thing, top, water } from './thing.ts';

export const figures = {
  person: thing(
    1.75,
    land,
    '#3f6fb4|#c9503c|#4d8a63|#d7a13a cloth, #39425a cloth',
    (shirt, trousers, random) => {
      const skin = random.pick(['#f0c8a4', '#d9a679', '#a9744c', '#7a4e33']);
      const hair = `${random.pick(['#2b1d14', '#5b3a20', '#1c1a1a', '#b98a4a'])} cloth`;
      return [
        ...both((side) => [
          rod([side * 0.1, 0.06, 0], [side * 0.09, 0.85, 0], [0.095, 0.075], trousers),
          ball([side * 0.1, 0.05, 0.05], [0.12, 0.1, 0.27], '#3a2a20 glossy'),
          rod([side * 0.21, 1.36, 0], [side * 0.3, 1.08, 0.03], [0.055, 0.07], shirt),
          rod([side * 0.3, 1.08, 0.03], [side * 0.29, 0.84, 0.12], [0.045, 0.055], shirt),
          ball([side * 0.29, 0.8, 0.13], 0.11, skin),
          ball([side * 0.055, 1.66, 0.118], 0.028, '#1a1512 glossy'),
        ]),
        ball([0, 1.2, 0], [0.4, 0.56, 0.27], shirt),
        ball([0, 1.36, 0], [0.46, 0.2, 0.25], shirt),
        ball([0, 0.92, 0], [0.36, 0.26, 0.27], trousers),
        post([0, 1.48, 0], [0.055, 0.065], 0.14, skin),
        ball([0, 1.64, 0], [0.24, 0.3, 0.26], skin),
        ball([0, 1.62, 0.135], [0.04, 0.05, 0.04], skin),
        ball([0, 1.69, -0.03], [0.27, 0.27, 0.26], hair),
      ];
    },
  ),
  robot: thing(1.6, land, '#c3c9d0 metal, #38d6ff glow', (body, glow) => [
    box([0, 1.4, 0], [0.46, 0.38, 0.38], body, 0.07),
    box([0, 1.41, 0.18], [0.36, 0.2, 0.05], '#14181e glossy', 0.04),
    ...both((side) => [
      ball([side * 0.09, 1.42, 0.2], [0.085, 0.085, 0.04], glow),
      post([side * 0.25, 1.41, 0], 0.07, 0.06, '#3a4048 metal', sideways),
      ball([side * 0.37, 1.07, 0], 0.19, '#3a4048 metal'),
      rod([side * 0.4, 1.05, 0], [side * 0.45, 0.78, 0.04], 0.065, body),
      ball([side * 0.45, 0.76, 0.04], 0.14, '#3a4048 metal'),
      rod([side * 0.45, 0.74, 0.05], [side * 0.44, 0.54, 0.17], 0.07, body),
      ball([side * 0.44, 0.5, 0.2], 0.15, '#3a4048 metal'),
      rod([side * 0.15, 0.55, 0], [side * 0.16, 0.3, 0.02], 0.075, body),
      ball([side * 0.16, 0.31, 0.02], 0.16, '#3a4048 metal'),
      rod([side * 0.16, 0.3, 0.02], [side * 0.16, 0.08, 0], 0.08, body),
      box([side * 0.16, 0.06, 0.05], [0.19, 0.12, 0.3], '#3a4048 metal', 0.05),
    ]),
    box([0, 0.9, 0], [0.6, 0.56, 0.42], body, 0.09),
    box([0, 0.58, 0], [0.42, 0.14, 0.34], '#3a4048 metal', 0.05),
    post([0, 1.19, 0], 0.08, 0.08, '#3a4048 metal'),
    box([0, 0.96, 0.205], [0.3, 0.2, 0.04], '#3a4048 metal', 0.03),
    ...['#ff5a4a', '#ffd24a', '#5ee07a'].map((colour, index) =>
      ball([(index - 1) * 0.08, 0.97, 0.23], 0.045, `${colour} glow`),
    ),
    rod([0, 1.58, 0], [0, 1.74, 0], 0.014, '#3a4048 metal'),
    ball([0, 1.76, 0], 0.07, '#ff5a4a glow'),
  ]),
  snowman: thing(1.6, land, '#f7f9fc, #c8372d cloth', (snow, scarf) => [
    ball([0, 0.42, 0], [0.95, 0.88, 0.95], snow),
    ball([0, 1.05, 0], [0.68, 0.64, 0.68], snow),
    ball([0, 1.5, 0], 0.46, snow),
    ring([0, 1.3, 0], 0.22, 0.06, scarf),
    box([0.12, 1.12, 0.31], [0.1, 0.34, 0.05], scarf, 0.02, [-0.1, 0.2, 0.15]),
    post([0, 1.5, 0.34], [0.006, 0.045], 0.26, '#ee7a22', forward),
    ...both((side) => [
      ball([side * 0.08, 1.58, 0.2], 0.055, '#1d1d20'),
      rod([side * 0.3, 1.08, 0], [side * 0.72, 1.34, 0.05], 0.02, '#5a3d28'),
      rod([side * 0.58, 1.25, 0.03], [side * 0.62, 1.42, 0.03], 0.014, '#5a3d28'),
    ]),
    ...[0.9, 1.05, 1.18].map((y) => ball([0, y, y === 1.05 ? 0.345 : 0.32], 0.055, '#1d1d20')),
    post([0, 1.7, 0], 0.29, 0.03, '#1d1d20'),
    post([0, 1.85, 0], 0.19, 0.28, '#1d1d20'),
    post([0, 1.75, 0], 0.195, 0.06, scarf),
  ]),
  bird: thing(0.3, land, '#4f86c6 cloth, #f0d9b8 cloth', (coat, trim) => [
    ball([0, 0.16, 0], [0.3, 0.2, 0.19], coat, [0, 0, 0.35]),
    ball([0.13, 0.28, 0.02], 0.15, coat),
    ball([0.06, 0.15, 0.05], [0.18, 0.15, 0.14], trim),
    post([0.225, 0.275, 0.05], [0.002, 0.025], 0.08, '#e59a2c', [0.4, 0, -Math.PI / 2]),
    ball([0.15, 0.3, 0.085], 0.03, '#15110e glossy'),
    ...both((side) => ball([-0.04, 0.17, side * 0.09], [0.24, 0.13, 0.05], coat, [0, 0, 0.45])),
    ball([-0.19, 0.1, 0], [0.2, 0.035, 0.09], coat, [0, 0, 0.5]),
    ...both((side) => rod([0.01, 0, side * 0.04], [0, 0.1, side * 0.04], 0.009, '#d98a2c')),
  ]),
  swan: thing(0.5, top(water, 0.5, 0.8), '#f5f2ea cloth, #e88a1a plastic', (coat, trim) => [
    ball([0, 0.17, 0], [0.6, 0.32, 0.36], coat),
    ball([-0.28, 0.27, 0], [0.26, 0.12, 0.16], coat, [0, 0, -0.6]),
    rod([0.2, 0.2, 0], [0.24, 0.52, 0.02], [0.05, 0.09], coat),
    ball([0.25, 0.54, 0.03], [0.17, 0.16, 0.16], coat),
    ball([0.36, 0.52, 0.07], [0.16, 0.05, 0.09], trim, [0, -0.4, 0]),
    ball([0.29, 0.57, 0.1], 0.03, '#15110e glossy'),
    ...both((side) => ball([-0.06, 0.23, side * 0.16], [0.4, 0.22, 0.08], coat, [0, 0, -0.1])),
  ]),
  owl: thing(0.5, land, '#8b6b4a cloth, #d9c3a0 cloth', (coat, trim) => [
    ball([0, 0.26, 0], [0.36, 0.52, 0.32], coat),
    ball([0, 0.5, 0.02], [0.34, 0.28, 0.3], coat),
    ball([0, 0.24, 0.06], [0.26, 0.38, 0.24], trim),
    ...both((side) => [
      ball([side * 0.08, 0.52, 0.14], [0.14, 0.14, 0.06], '#e8d8b8'),
      ball([side * 0.08, 0.52, 0.165], [0.075, 0.075, 0.04], '#f0a818 glossy'),
      ball([side * 0.08, 0.52, 0.183], 0.04, '#120d0a glossy'),
      post([side * 0.12, 0.66, 0.02], [0.004, 0.05], 0.13, coat, [0, 0, -side * 0.3]),
      ball([side * 0.18, 0.27, 0], [0.08, 0.4, 0.24], coat, [0, 0, side * 0.12]),
      ball([side * 0.07, 0.015, 0.1], [0.09, 0.04, 0.1], '#c98a2a'),
    ]),
    post([0, 0.47, 0.18], [0.025, 0.003], 0.07, '#c98a2a', [-0.3, 0, 0]),
  ]),
  penguin: thing(0.9, land, '#23262d cloth, #f6f3ec cloth', (coat, trim) => [
    ball([0, 0.36, 0], [0.42, 0.7, 0.38], coat),
    ball([0, 0.34, 0.06], [0.34, 0.6, 0.32], trim),
    ball([0, 0.76, 0.01], [0.28, 0.28, 0.27], coat),
    ...both((side) => [
      ball([side * 0.065, 0.77, 0.095], [0.11, 0.13, 0.08], '#f6f3ec cloth'),
      ball([side * 0.065, 0.785, 0.13], 0.035, '#0f0d0c glossy'),
      ball([side * 0.22, 0.38, 0], [0.07, 0.42, 0.18], coat, [0, 0, side * 0.28]),
      ball([side * 0.09, 0.025, 0.12], [0.14, 0.06, 0.22], '#ee9a22 plastic'),
    ]),
    post([0, 0.73, 0.17], [0.004, 0.035], 0.11, '#ee9a22 plastic', forward),
  ]),
  fish: thing(0.4, water, '#ee7f2a glossy, #f7b267 glossy', (coat, trim) => [
    ball([0, 0.2, 0], [0.56, 0.3, 0.17], coat),
    slab('0 0, -0.2 0.17, -0.17 0, -0.2 -0.17', 0.03, trim, [-0.23, 0.2, 0]),
    slab('-0.12 -0.02, 0.1 -0.02, -0.1 0.1', 0.02, trim, [0.02, 0.34, 0]),
    ...both((side) => ball([0.17, 0.23, side * 0.07], 0.045, '#101010 glossy')),
  ]),
  whale: thing(2.2, top(water, 0.9), '#4a6788 glossy, #dfe6ea glossy', (coat, trim) => [
    ball([0.3, 0.9, 0], [4, 1.7, 1.7], coat),
    ball([0.5, 0.7, 0], [3.4, 1.3, 1.6], trim),
    rod([-1.2, 1, 0], [-2.4, 1.5, 0], [0.12, 0.5], coat),
    ...both((side) => [
      ball([-2.6, 1.6, side * 0.4], [0.5, 0.12, 0.9], coat, [0, side * 0.5, 0]),
      ball([0.8, 0.4, side * 0.9], [0.7, 0.14, 0.8], coat, [side * 0.5, side * 0.5, 0]),
      ball([1.7, 0.95, side * 0.66], 0.12, '#0e0e10 glossy'),
    ]),
  ]),
  butterfly: thing(0.3, air, '#e8932c, #f3c04a', (wing, trim) => [
    ball([0, 0.4, 0.02], [0.05, 0.34, 0.05], '#2a201a'),
    ...both((side) => [
      ball([side * 0.17, 0.49, 0], [0.3, 0.26, 0.02], wing, [0, side * 0.3, side * 0.5]),
      ball([side * 0.13, 0.29, 0], [0.22, 0.2, 0.02], trim, [0, side * 0.3, -side * 0.4]),
      rod([0, 0.56, 0.02], [side * 0.07, 0.68, 0.04], 0.006, '#2a201a'),
    ]),
  ]),
};
