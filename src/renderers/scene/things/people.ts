/** People: a body in clothes, a detailed face, and hair that suits them; and figures, from robots to birds and fish. */
import type { Random } from '../../random.ts';
import {
  ball,
  bend,
  both,
  box,
  forward,
  type Paint,
  type Part,
  post,
  ring,
  rod,
  round,
  sideways,
  slab,
} from './parts.ts';
import { air, land, type Thing, thing, top, water } from './thing.ts';

type Hair = (hair: string) => Part[];

const clothes = '#3f6fb4|#c9503c|#4d8a63|#d7a13a cloth, #39425a cloth';
const hairColours: [string, ...string[]] = ['#2b1d14', '#5b3a20', '#1c1a1a', '#b98a4a'];

const person = human(hairColours, trousers, short);
const woman = human(hairColours, skirt, long);

const plainLook = { colours: [], trim: [], material: null, text: '', isSeated: false };

export const people = {
  person,
  woman,
  grandmother: human(['#d9d6d0', '#c4c2c0', '#efece6'], skirt, long),
  grandfather: human(['#d9d6d0', '#efece6'], trousers, beard),
  statueofliberty: thing(9, land, '#7fb59b, #b3a68e stone', (copper, plinth, random) => [
    box([0, -0.5, 0], [0.9, 1, 0.9], plinth, 0.02),
    ...woman.build(plainLook, random).map((part) => ({ ...part, paint: copper })),
    rod([0.28, 1.3, 0], [0.4, 2.05, 0], 0.06, copper),
    ball([0.4, 2.14, 0], [0.12, 0.2, 0.12], '#f0b93a glow'),
    ...round(7, (cos, sin) =>
      rod([cos * 0.1, 1.74, sin * 0.1], [cos * 0.26, 1.92, sin * 0.26], [0.004, 0.02], copper),
    ),
  ]),
  statue: thing(2.4, land, '#c9c4b8 stone, #8f897f stone', (stone, plinth, random) => [
    box([0, 0.3, 0], [0.8, 0.6, 0.7], plinth, 0.02),
    box([0, 0.62, 0], [0.92, 0.1, 0.82], plinth, 0.02),
    ...person
      .build(plainLook, random)
      .map((part) => ({ ...part, at: [part.at[0], part.at[1] + 0.66, part.at[2]] as const, paint: stone })),
  ]),
};

function human(hairs: readonly [string, ...string[]], below: (paint: Paint) => Part[], hairOf: Hair): Thing {
  return thing(1.75, land, clothes, (shirt, lower, random, { isSeated }) => {
    const skin = random.pick(['#f0c8a4', '#d9a679', '#a9744c', '#7a4e33']);
    const hair = `${random.pick(hairs)} cloth`;
    return [
      ...(isSeated ? bentLegs : below)(lower),
      ...trunk(shirt, skin),
      ...face(skin, hair, random),
      ...hairOf(hair),
    ];
  });
}

function trousers(paint: Paint): Part[] {
  return [
    ...both((side) => rod([side * 0.1, 0.06, 0], [side * 0.09, 0.85, 0], [0.095, 0.075], paint)),
    ...shoes(),
    ball([0, 0.92, 0], [0.36, 0.26, 0.27], paint),
  ];
}

function bentLegs(paint: Paint): Part[] {
  return [
    ball([0, 0.92, 0], [0.36, 0.24, 0.3], paint),
    ...both((side) => [
      rod([side * 0.1, 0.9, 0.02], [side * 0.11, 0.9, 0.45], [0.08, 0.095], paint),
      ball([side * 0.11, 0.9, 0.45], 0.16, paint),
      rod([side * 0.11, 0.47, 0.46], [side * 0.11, 0.9, 0.45], [0.08, 0.065], paint),
      ball([side * 0.11, 0.44, 0.52], [0.12, 0.1, 0.27], '#3a2a20 glossy'),
    ]),
  ];
}

function skirt(paint: Paint): Part[] {
  return [
    ...both((side) => rod([side * 0.09, 0.06, 0], [side * 0.09, 0.5, 0], 0.05, '#4a3b34 cloth')),
    ...shoes(),
    post([0, 0.66, 0], [0.17, 0.29], 0.62, paint),
    ball([0, 0.96, 0], [0.36, 0.22, 0.27], paint),
  ];
}

function shoes(): Part[] {
  return both((side) => ball([side * 0.1, 0.05, 0.05], [0.12, 0.1, 0.27], '#3a2a20 glossy'));
}

function trunk(shirt: Paint, skin: string): Part[] {
  return [
    ...both((side) => [
      rod([side * 0.21, 1.36, 0], [side * 0.3, 1.08, 0.03], [0.055, 0.07], shirt),
      ball([side * 0.21, 1.365, 0], 0.138, shirt),
      ball([side * 0.3, 1.08, 0.03], 0.112, shirt),
      rod([side * 0.3, 1.08, 0.03], [side * 0.29, 0.84, 0.12], [0.045, 0.055], shirt),
      ball([side * 0.29, 0.8, 0.13], 0.11, skin),
    ]),
    ball([0, 1.2, 0], [0.4, 0.56, 0.27], shirt),
    ball([0, 1.36, 0], [0.42, 0.19, 0.23], shirt),
    ring([0, 1.438, 0], 0.072, 0.02, shirt),
    post([0, 1.47, 0], [0.055, 0.066], 0.16, skin),
  ];
}

function face(skin: string, hair: string, random: Random): Part[] {
  const iris = random.pick(['#4a6f9a glossy', '#5a7a4a glossy', '#5b3a22 glossy']);
  return [
    ball([0, 1.64, 0], [0.235, 0.3, 0.25], skin),
    ball([0, 1.55, 0.045], [0.15, 0.11, 0.14], skin),
    ball([0, 1.625, 0.132], [0.036, 0.066, 0.05], skin),
    ball([0, 1.602, 0.138], [0.05, 0.034, 0.046], skin),
    ...both((side) => [
      ball([side * 0.046, 1.657, 0.104], [0.046, 0.03, 0.03], '#f6f2ea glossy'),
      ball([side * 0.045, 1.657, 0.117], [0.022, 0.024, 0.012], iris),
      ball([side * 0.045, 1.657, 0.1225], [0.011, 0.012, 0.006], '#0d0b0a glossy'),
      rod([side * 0.026, 1.688, 0.122], [side * 0.07, 1.687, 0.105], 0.0055, hair),
      ball([side * 0.118, 1.635, 0], [0.03, 0.075, 0.05], skin),
    ]),
    bend('-0.034 1.571 0.108, -0.015 1.563 0.119, 0.015 1.563 0.119, 0.034 1.571 0.108', 0.006, '#b25a52'),
  ];
}

function short(hair: string): Part[] {
  return [
    ball([0, 1.7, -0.028], [0.262, 0.25, 0.255], hair),
    ball([0.03, 1.765, 0.055], [0.2, 0.09, 0.13], hair),
  ];
}

function long(hair: string): Part[] {
  return [
    ball([0, 1.7, -0.03], [0.275, 0.26, 0.26], hair),
    ball([0, 1.5, -0.095], [0.28, 0.5, 0.15], hair),
    ...both((side) => [
      ball([side * 0.055, 1.755, 0.07], [0.13, 0.08, 0.1], hair),
      ball([side * 0.122, 1.53, -0.005], [0.07, 0.4, 0.13], hair),
    ]),
  ];
}

function beard(hair: string): Part[] {
  return [
    ball([0, 1.66, -0.045], [0.268, 0.2, 0.22], hair),
    ball([0, 1.51, 0.07], [0.16, 0.13, 0.12], hair),
    ...both((side) => [
      ball([side * 0.085, 1.57, 0.055], [0.08, 0.13, 0.11], hair),
      ball([side * 0.026, 1.587, 0.127], [0.06, 0.022, 0.03], hair, [0, 0, -side * 0.25]),
    ]),
  ];
}

/** Robots, snowmen, teddy bears, birds, butterflies, and animals that swim. */
export const figures = {
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
  teddybear: thing(0.5, land, '#b07a45 cloth, #e6cfa2 cloth', (fur, trim) => [
    ball([0, 0.24, 0], [0.36, 0.42, 0.3], fur),
    ball([0, 0.23, 0.09], [0.24, 0.29, 0.16], trim),
    ball([0, 0.54, 0.02], [0.34, 0.31, 0.3], fur),
    ball([0, 0.49, 0.15], [0.16, 0.13, 0.12], trim),
    ball([0, 0.52, 0.205], [0.055, 0.04, 0.03], '#2b1d18 glossy'),
    ...both((side) => [
      ball([side * 0.14, 0.67, 0], [0.13, 0.13, 0.08], fur),
      ball([side * 0.14, 0.67, 0.035], [0.075, 0.075, 0.03], trim),
      ball([side * 0.07, 0.58, 0.155], 0.035, '#17130f glossy'),
      ball([side * 0.2, 0.3, 0.06], [0.12, 0.27, 0.13], fur, [-0.5, 0, side * 0.7]),
      ball([side * 0.15, 0.08, 0.17], [0.15, 0.15, 0.3], fur, [0, side * 0.4, 0]),
      ball([side * 0.2, 0.09, 0.3], [0.11, 0.11, 0.04], trim, [0, side * 0.4, 0]),
    ]),
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
  shark: thing(1, top(water, 0.9), '#7f93a3 glossy, #e6ebee glossy', (coat, trim) => [
    ball([0, 0.7, 0], [3, 0.8, 0.7], coat),
    ball([0.15, 0.6, 0], [2.6, 0.66, 0.64], trim),
    slab('-0.3 0, 0.35 0, -0.3 0.6', 0.08, coat, [0, 1, 0]),
    slab('0 0, -0.5 0.6, -0.32 0.02, -0.42 -0.35', 0.08, coat, [-1.35, 0.72, 0]),
    ...both((side) => [
      ball([0.4, 0.45, side * 0.42], [0.4, 0.08, 0.6], coat, [side * 0.5, side * 0.6, 0]),
      ball([1.1, 0.8, side * 0.23], 0.09, '#0e0e10 glossy'),
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
