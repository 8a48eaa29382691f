/** Everything that can be set into a picture: where it belongs, how large it is, and who draws it. */
import type { Noun } from '../../language/nouns.ts';
import { drawCat, drawDog, drawOwl, drawRabbit } from './animals.ts';
import { drawBarn, drawChurch, drawHouse, drawPyramid, drawTent, drawWindmill } from './buildings.ts';
import {
  drawBalloon,
  drawBoat,
  drawCar,
  drawKite,
  drawPlane,
  drawRocket,
  drawSailboat,
  drawShip,
  drawTrain,
} from './craft.ts';
import { type DrawThing } from './look.ts';
import { drawCow, drawHorse, drawSheep } from './farm-animals.ts';
import { drawApple, drawCherry, drawFruit, drawLemon, drawPear, drawPumpkin } from './fruit.ts';
import {
  drawBall,
  drawBook,
  drawBottle,
  drawBowl,
  drawCandle,
  drawCube,
  drawCup,
  drawGlass,
  drawVase,
} from './objects.ts';
import { drawPerson } from './person.ts';
import {
  drawBird,
  drawButterfly,
  drawFence,
  drawFlower,
  drawMushroom,
  drawRock,
  drawSnowman,
  drawSwan,
  drawWhale,
} from './small.ts';
import { drawArchBridge, drawCastle, drawLighthouse, drawTower } from './towers.ts';
import { drawBush, drawCactus, drawOak, drawPalm, drawPine, drawTree } from './trees.ts';

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
  house: land(62, [0.16, 0.4], 2.1, drawHouse),
  castle: land(104, [0.08, 0.22], 1.75, drawCastle),
  tower: land(34, [0.1, 0.3], 1.9, drawTower),
  lighthouse: land(36, [0.12, 0.3], 1.45, drawLighthouse),
  barn: land(70, [0.16, 0.36], 2, drawBarn),
  windmill: land(60, [0.12, 0.32], 1.9, drawWindmill),
  church: land(60, [0.12, 0.32], 1.8, drawChurch),
  tent: land(62, [0.4, 0.62], 1.7, drawTent),
  pyramid: land(108, [0.04, 0.2], 1.6, drawPyramid),
  bridge: land(130, [0.32, 0.4], 1.1, drawArchBridge),
  fence: land(70, [0.56, 0.72], 1, drawFence),
  tree: land(44, [0.12, 0.62], 1.9, drawTree),
  oak: land(74, [0.2, 0.5], 2.1, drawOak),
  pine: land(34, [0.08, 0.6], 1.7, drawPine),
  palm: land(42, [0.2, 0.7], 1.4, drawPalm),
  cactus: land(30, [0.25, 0.75], 1.5, drawCactus),
  bush: land(36, [0.2, 0.7], 1.2, drawBush),
  flower: land(12, [0.26, 0.97], 3.4, drawFlower),
  rock: land(38, [0.3, 0.85], 1.3, drawRock),
  mushroom: land(20, [0.55, 0.92], 1.8, drawMushroom),
  snowman: land(34, [0.5, 0.7], 1.5, drawSnowman),
  cat: land(32, [0.66, 0.86], 1.9, drawCat),
  dog: land(32, [0.66, 0.86], 1.8, drawDog),
  horse: land(56, [0.5, 0.78], 1.45, drawHorse),
  cow: land(56, [0.5, 0.78], 1.35, drawCow),
  sheep: land(36, [0.42, 0.82], 1.7, drawSheep),
  rabbit: land(24, [0.66, 0.88], 2, drawRabbit),
  owl: land(24, [0.6, 0.8], 2, drawOwl),
  person: land(22, [0.56, 0.82], 1.5, drawPerson),
  car: land(60, [0.55, 0.75], 1.3, drawCar),
  train: land(140, [0.3, 0.45], 1.3, drawTrain),
  sailboat: water(50, 1.35, drawSailboat),
  boat: water(46, 1.5, drawBoat),
  ship: water(88, 1.25, drawShip),
  swan: water(38, 1.6, drawSwan),
  whale: water(80, 1.4, drawWhale),
  bird: air(26, 1.5, 18, drawBird),
  balloon: air(46, 1.5, 106, drawBalloon),
  kite: air(34, 1.4, 36, drawKite),
  plane: air(62, 1.3, 36, drawPlane),
  rocket: air(48, 1.6, 114, drawRocket),
  butterfly: air(24, 1.5, 20, drawButterfly),
  ball: land(40, [0.66, 0.88], 0.8, drawBall),
  cube: land(46, [0.66, 0.88], 0.8, drawCube),
  apple: land(40, [0.74, 0.9], 0.7, drawApple),
  fruit: land(36, [0.74, 0.9], 0.7, drawFruit),
  lemon: land(48, [0.74, 0.9], 0.6, drawLemon),
  pear: land(38, [0.74, 0.9], 0.6, drawPear),
  cherry: land(30, [0.74, 0.9], 0.7, drawCherry),
  cup: land(48, [0.74, 0.9], 0.7, drawCup),
  glass: land(28, [0.74, 0.9], 0.6, drawGlass),
  book: land(62, [0.74, 0.9], 0.7, drawBook),
  vase: land(46, [0.66, 0.8], 0.7, drawVase),
  bottle: land(26, [0.74, 0.9], 0.6, drawBottle),
  bowl: land(68, [0.74, 0.9], 0.7, drawBowl),
  candle: land(34, [0.74, 0.9], 0.6, drawCandle),
  pumpkin: land(60, [0.6, 0.85], 0.9, drawPumpkin),
} as const satisfies Partial<Record<Noun, Entry>>;

const catalogue: Partial<Record<Noun, Entry>> = entries;

/** Absent for what is not a thing but a part of the place, such as the sea or the rain. */
export function entryOf(noun: Noun): Entry | undefined {
  return catalogue[noun];
}
