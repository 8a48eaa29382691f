/** Every thing with a shape: how it is built, how tall it is, and where another can stand on it. */
import type { Noun } from '../../language/nouns.ts';
import { beast } from './animals.ts';
import { bird, butterfly, duck, fish, owl, penguin, whale } from './birds.ts';
import * as buildings from './buildings.ts';
import * as food from './food.ts';
import * as furniture from './furniture.ts';
import * as goods from './goods.ts';
import type { Look } from './look.ts';
import type { Part } from './parts.ts';
import { person, robot, snowman } from './people.ts';
import * as plants from './plants.ts';
import * as craft from './craft.ts';
import * as solids from './solids.ts';
import * as tableware from './tableware.ts';
import * as vehicles from './vehicles.ts';

export interface Thing {
  build(look: Look): Part[];
  /** Metres from its lowest to its highest point. */
  height: number;
  home: 'land' | 'table' | 'water' | 'air';
  /** At what share of its height another stands on it. */
  rest: number;
  /** What share of its width and depth is free there. */
  restRoom: number;
}

export function thingOf(noun: Noun): Thing {
  return catalogue[noun] ?? form;
}

function thing(
  build: Thing['build'],
  height: number,
  more: Partial<Omit<Thing, 'build' | 'height'>> = {},
): Thing {
  return { build, height, home: 'land', rest: 1, restRoom: 0.8, ...more };
}

const onTable = { home: 'table', rest: 1, restRoom: 0.7 } as const;
const onWater = { home: 'water', rest: 0.5, restRoom: 0.6 } as const;
const inAir = { home: 'air' } as const;
const form = thing(tableware.form, 1.3);

const catalogue: Partial<Record<Noun, Thing>> = {
  house: thing(buildings.house, 5.2),
  castle: thing(buildings.castle, 9),
  tower: thing(buildings.tower, 7),
  lighthouse: thing(buildings.lighthouse, 8),
  barn: thing(buildings.barn, 6),
  windmill: thing(buildings.windmill, 7),
  church: thing(buildings.church, 9),
  tent: thing(buildings.tent, 1.8),
  pyramid: thing(buildings.pyramid, 5),
  skyscraper: thing(buildings.skyscraper, 24),
  bridge: thing(buildings.bridge, 2.4, { rest: 0.8 }),
  fence: thing(buildings.fence, 1),
  wall: thing(buildings.brickWall, 2.3),
  tree: thing(plants.tree, 4.6),
  oak: thing(plants.tree, 5.4),
  pine: thing(plants.pine, 4.8),
  palm: thing(plants.palm, 5),
  christmastree: thing(plants.christmasTree, 2.6),
  cactus: thing(plants.cactus, 2),
  bush: thing(plants.bush, 0.9),
  flower: thing(plants.flower, 0.6),
  sunflower: thing(plants.sunflower, 1),
  mushroom: thing(plants.mushroom, 0.35),
  rock: thing(plants.rock, 0.8),
  cat: thing(beast('cat'), 0.5, { rest: 0.6 }),
  dog: thing(beast('dog'), 0.65, { rest: 0.6 }),
  fox: thing(beast('fox'), 0.55, { rest: 0.6 }),
  horse: thing(beast('horse'), 2, { rest: 0.68, restRoom: 0.5 }),
  zebra: thing(beast('zebra'), 1.8, { rest: 0.68, restRoom: 0.5 }),
  cow: thing(beast('cow'), 1.5, { rest: 0.75, restRoom: 0.5 }),
  pig: thing(beast('pig'), 0.8, { rest: 0.8 }),
  sheep: thing(beast('sheep'), 0.95, { rest: 0.85 }),
  bear: thing(beast('bear'), 1.1, { rest: 0.75 }),
  tiger: thing(beast('tiger'), 1.05, { rest: 0.7 }),
  lion: thing(beast('lion'), 1.1, { rest: 0.7 }),
  elephant: thing(beast('elephant'), 2.9, { rest: 0.8, restRoom: 0.5 }),
  giraffe: thing(beast('giraffe'), 4.4, { rest: 0.5, restRoom: 0.4 }),
  rabbit: thing(beast('rabbit'), 0.4, { rest: 0.5 }),
  turtle: thing(beast('turtle'), 0.3, { rest: 0.72 }),
  bird: thing(bird, 0.3),
  swan: thing(duck, 0.5, { home: 'water', rest: 0.5 }),
  owl: thing(owl, 0.5),
  penguin: thing(penguin, 0.9),
  fish: thing(fish, 0.4, { ...onWater }),
  whale: thing(whale, 2.2, { ...onWater, rest: 0.9 }),
  butterfly: thing(butterfly, 0.3, inAir),
  person: thing(person, 1.75),
  robot: thing(robot, 1.6),
  snowman: thing(snowman, 1.6),
  table: thing(furniture.table, 0.78, { restRoom: 0.86 }),
  chair: thing(furniture.chair, 0.95, { rest: 0.53, restRoom: 0.8 }),
  armchair: thing(furniture.armchair, 0.95, { rest: 0.56, restRoom: 0.6 }),
  sofa: thing(furniture.sofa, 0.95, { rest: 0.56, restRoom: 0.7 }),
  bench: thing(furniture.bench, 0.9, { rest: 0.53, restRoom: 0.8 }),
  bed: thing(furniture.bed, 1, { rest: 0.6 }),
  lamp: thing(furniture.lamp, 0.55, onTable),
  streetlight: thing(furniture.streetlight, 3.4),
  bookshelf: thing(furniture.bookshelf, 1.9),
  ladder: thing(furniture.ladder, 2.2),
  mat: thing(furniture.mat, 0.03),
  cup: thing(tableware.cup, 0.12, onTable),
  glass: thing(tableware.glass, 0.2, onTable),
  bottle: thing(tableware.bottle, 0.3, onTable),
  can: thing(tableware.can, 0.16, onTable),
  juice: thing(tableware.juice, 0.17, onTable),
  bowl: thing(tableware.bowl, 0.13, { ...onTable, rest: 0.45, restRoom: 0.55 }),
  plate: thing(tableware.plate, 0.03, { ...onTable, restRoom: 0.6 }),
  vase: thing(tableware.vase, 0.34, { ...onTable, rest: 0.95, restRoom: 0.2 }),
  teapot: thing(tableware.teapot, 0.22, onTable),
  candle: thing(tableware.candle, 0.26, onTable),
  apple: thing(food.apple, 0.12, onTable),
  fruit: thing(food.orange, 0.12, onTable),
  cherry: thing(food.cherry, 0.08, onTable),
  lemon: thing(food.lemon, 0.1, onTable),
  pear: thing(food.pear, 0.15, onTable),
  banana: thing(food.banana, 0.1, onTable),
  pumpkin: thing(food.pumpkin, 0.35, onTable),
  watermelon: thing(food.watermelon, 0.3, onTable),
  pineapple: thing(food.pineapple, 0.34, onTable),
  cake: thing(food.cake, 0.25, onTable),
  car: thing(vehicles.car, 1.45, { rest: 0.98, restRoom: 0.4 }),
  truck: thing(vehicles.truck, 2.8),
  bus: thing(vehicles.bus, 2.5),
  train: thing(vehicles.train, 3),
  bicycle: thing(vehicles.bicycle, 1.05, { rest: 0.92, restRoom: 0.2 }),
  boat: thing(craft.boat, 0.75, { ...onWater, rest: 0.6 }),
  sailboat: thing(craft.sailboat, 3.6, { ...onWater, rest: 0.18 }),
  ship: thing(craft.ship, 5, { ...onWater, rest: 0.4 }),
  plane: thing(craft.plane, 2.6, inAir),
  rocket: thing(craft.rocket, 5),
  hotairballoon: thing(craft.hotAirBalloon, 7, inAir),
  balloon: thing(craft.toyBalloon, 1.3, inAir),
  ball: thing(solids.sphere, 0.28, onTable),
  baseball: thing(solids.baseball, 0.24, onTable),
  tennisball: thing(solids.tennisBall, 0.22, onTable),
  solidpyramid: thing(solids.solidPyramid, 0.34, { ...onTable, restRoom: 0.2 }),
  cube: thing(solids.cube, 0.3, onTable),
  square: thing(solids.cube, 0.3, onTable),
  cone: thing(solids.cone, 0.4, { ...onTable, restRoom: 0.2 }),
  cylinder: thing(solids.cylinder, 0.4, onTable),
  ring: thing(solids.torus, 0.35, onTable),
  circle: thing(solids.disc, 0.3, onTable),
  triangle: thing(solids.triangle, 0.3, onTable),
  heart: thing(solids.heart, 0.35, onTable),
  diamond: thing(solids.diamond, 0.25, onTable),
  basketball: thing(solids.basketball, 0.26, onTable),
  football: thing(solids.football, 0.24, onTable),
  book: thing(goods.book, 0.06, onTable),
  laptop: thing(goods.laptop, 0.26, onTable),
  hat: thing(goods.hat, 0.2, onTable),
  umbrella: thing(goods.umbrella, 1.9),
  sign: thing(goods.sign, 1.6),
  stopsign: thing(goods.stopSign, 2.2),
  present: thing(goods.present, 0.4, onTable),
  guitar: thing(goods.guitar, 1.1),
  hydrant: thing(goods.hydrant, 0.8),
  barrel: thing(goods.barrel, 0.9),
  bucket: thing(goods.bucket, 0.4),
  kite: thing(goods.kite, 1, inAir),
  planet: thing(goods.planet, 2.2, inAir),
};
