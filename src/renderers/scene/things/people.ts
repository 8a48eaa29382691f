/** People: a body in clothes, a detailed face, and hair that suits them. One of them is a statue. */
import type { Random } from '../../random.ts';
import { ball, bend, box, post, ring, rod, type Paint, type Part } from './parts.ts';
import { both, round } from './placing.ts';
import { land, thing, type Thing } from './thing.ts';

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
