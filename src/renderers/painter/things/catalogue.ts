/** Everything that can be set into a picture: where it belongs, how large it is, and who draws it. */
import type { Noun } from '../../language/nouns.ts';
import * as buildings from './buildings.ts';
import * as craft from './craft.ts';
import * as figures from './figures.ts';
import * as objects from './objects.ts';
import * as small from './small.ts';
import * as towers from './towers.ts';
import * as trees from './trees.ts';
import type { DrawThing } from './look.ts';

export interface Entry {
  home: 'land' | 'water' | 'air';
  /** Half its width in drawing units, which others keep away from. */
  reach: number;
  /** How far from the horizon it stands on open land: 0 to 1. */
  depths: readonly [from: number, to: number];
  /** How large one alone is shown; a building is large as it is, a cat is brought near. */
  alone: number;
  /** How high it rises over its foot, for what must stay below the picture's top. */
  rise: number;
  draw: DrawThing;
}

const land = (reach: number, depths: readonly [number, number], alone: number, draw: DrawThing): Entry => ({
  home: 'land',
  reach,
  depths,
  alone,
  rise: 0,
  draw,
});
const water = (reach: number, alone: number, draw: DrawThing): Entry => ({
  home: 'water',
  reach,
  depths: [0, 1],
  alone,
  rise: 0,
  draw,
});
const air = (reach: number, alone: number, rise: number, draw: DrawThing): Entry => ({
  home: 'air',
  reach,
  depths: [0, 1],
  alone,
  rise,
  draw,
});

const entries = {
  house: land(62, [0.16, 0.4], 2.1, buildings.drawHouse),
  castle: land(104, [0.08, 0.22], 1.75, towers.drawCastle),
  tower: land(34, [0.1, 0.3], 1.9, towers.drawTower),
  lighthouse: land(36, [0.12, 0.3], 1.45, towers.drawLighthouse),
  barn: land(70, [0.16, 0.36], 2, buildings.drawBarn),
  windmill: land(60, [0.12, 0.32], 1.9, buildings.drawWindmill),
  church: land(60, [0.12, 0.32], 1.8, buildings.drawChurch),
  tent: land(62, [0.4, 0.62], 1.7, buildings.drawTent),
  pyramid: land(108, [0.04, 0.2], 1.6, buildings.drawPyramid),
  bridge: land(130, [0.32, 0.4], 1.1, towers.drawArchBridge),
  fence: land(70, [0.56, 0.72], 1, small.drawFence),
  tree: land(44, [0.12, 0.62], 1.9, trees.drawTree),
  oak: land(74, [0.2, 0.5], 2.1, trees.drawOak),
  pine: land(34, [0.08, 0.6], 1.7, trees.drawPine),
  palm: land(42, [0.2, 0.7], 1.4, trees.drawPalm),
  cactus: land(30, [0.25, 0.75], 1.5, trees.drawCactus),
  bush: land(36, [0.2, 0.7], 1.2, trees.drawBush),
  flower: land(12, [0.26, 0.97], 3.4, small.drawFlower),
  rock: land(38, [0.3, 0.85], 1.3, small.drawRock),
  mushroom: land(20, [0.55, 0.92], 1.8, small.drawMushroom),
  snowman: land(34, [0.5, 0.7], 1.5, small.drawSnowman),
  cat: land(32, [0.66, 0.86], 1.9, figures.drawCat),
  dog: land(32, [0.66, 0.86], 1.8, figures.drawDog),
  horse: land(56, [0.5, 0.78], 1.45, figures.drawHorse),
  cow: land(56, [0.5, 0.78], 1.35, figures.drawCow),
  sheep: land(36, [0.42, 0.82], 1.7, figures.drawSheep),
  rabbit: land(24, [0.66, 0.88], 2, figures.drawRabbit),
  owl: land(24, [0.6, 0.8], 2, figures.drawOwl),
  person: land(22, [0.56, 0.82], 1.5, figures.drawPerson),
  car: land(60, [0.55, 0.75], 1.3, craft.drawCar),
  train: land(140, [0.3, 0.45], 1.3, craft.drawTrain),
  sailboat: water(50, 1.35, craft.drawSailboat),
  boat: water(46, 1.5, craft.drawBoat),
  ship: water(88, 1.25, craft.drawShip),
  swan: water(38, 1.6, small.drawSwan),
  whale: water(80, 1.4, small.drawWhale),
  bird: air(26, 1.5, 18, small.drawBird),
  balloon: air(46, 1.5, 106, craft.drawBalloon),
  kite: air(34, 1.4, 36, craft.drawKite),
  plane: air(62, 1.3, 36, craft.drawPlane),
  rocket: air(48, 1.6, 114, craft.drawRocket),
  butterfly: air(24, 1.5, 20, small.drawButterfly),
  ball: land(40, [0.66, 0.88], 0.8, objects.drawBall),
  cube: land(46, [0.66, 0.88], 0.8, objects.drawCube),
  apple: land(40, [0.74, 0.9], 0.7, objects.drawApple),
  fruit: land(36, [0.74, 0.9], 0.7, objects.drawFruit),
  lemon: land(48, [0.74, 0.9], 0.6, objects.drawLemon),
  pear: land(38, [0.74, 0.9], 0.6, objects.drawPear),
  cherry: land(30, [0.74, 0.9], 0.7, objects.drawCherry),
  cup: land(48, [0.74, 0.9], 0.7, objects.drawCup),
  glass: land(28, [0.74, 0.9], 0.6, objects.drawGlass),
  book: land(62, [0.74, 0.9], 0.7, objects.drawBook),
  vase: land(46, [0.66, 0.8], 0.7, objects.drawVase),
  bottle: land(26, [0.74, 0.9], 0.6, objects.drawBottle),
  bowl: land(68, [0.74, 0.9], 0.7, objects.drawBowl),
  candle: land(34, [0.74, 0.9], 0.6, objects.drawCandle),
  pumpkin: land(60, [0.6, 0.85], 0.9, objects.drawPumpkin),
} as const satisfies Partial<Record<Noun, Entry>>;

const catalogue: Partial<Record<Noun, Entry>> = entries;

/** Absent for what is not a thing but a part of the place, such as the sea or the rain. */
export function entryOf(noun: Noun): Entry | undefined {
  return catalogue[noun];
}
