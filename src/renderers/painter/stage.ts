/** The stage of one picture: its size in drawing units, its light, its colours, and where far and near are. */
import { clamp, colourOf, mix, shade, under, type Colour } from '../colour.ts';
import { box, Drawing, type Point } from './drawing.ts';
import { paletteOf, type Palette } from './palette.ts';
import { createRandom, hashOf, type Random } from '../random.ts';
import type { Noun } from '../language/nouns.ts';
import { mentionOf, saidColour, speaksOf, type Mention } from './mentions.ts';
import { coloursOf, type Look } from './things/look.ts';
import { settingOf, type Setting } from './setting.ts';

export interface Stage {
  /** In drawing units; the shorter side is 512. */
  width: number;
  height: number;
  /** Where the flat land or the water ends in the distance. */
  horizon: number;
  /** The middle of sun or moon, and which side of things it shines on. */
  light: { at: Point; side: -1 | 1 };
  /** How much of small and many things is drawn, from 0.25 in a thumbnail to 1. */
  detail: number;
  setting: Setting;
  palette: Palette;
  random: Random;
  drawing: Drawing;
  /** What the prompt says of these nouns. */
  says(...nouns: Noun[]): boolean;
  mention(noun: Noun): Mention | undefined;
  saidColour(...nouns: Noun[]): Colour | undefined;
}

const shortSide = 512;
/** A picture longer than this is stretched. */
const maxAspect = 3;

export function setStage(text: string, seed: number, pixelWidth: number, pixelHeight: number): Stage {
  const random = createRandom(`${seed} ${hashOf(text, 1)} ${hashOf(text, 2)}`);
  const setting = settingOf(text, random.fork('setting'));
  const aspect = Math.min(maxAspect, Math.max(1 / maxAspect, pixelWidth / pixelHeight));
  const width = aspect >= 1 ? shortSide * aspect : shortSide;
  const height = aspect >= 1 ? shortSide : shortSide / aspect;
  const horizon = height * horizonOf(setting, random);
  return {
    width,
    height,
    horizon,
    light: lightOf(setting, random.fork('light'), width, horizon),
    detail: clamp(Math.sqrt(pixelWidth * pixelHeight) / 400, 0.25, 1),
    setting,
    palette: paletteOf(setting, random.fork('palette')),
    random,
    drawing: new Drawing(),
    says: (...nouns) => speaksOf(setting.description, ...nouns),
    mention: (noun) => mentionOf(setting.description, noun),
    saidColour: (...nouns) => saidColour(setting.description, ...nouns),
  };
}

/** A colour, shaded by an amount, as it is seen in this light at a depth: 0 is the horizon, 1 is right here. */
export function seen(stage: Stage, colour: Colour | string, depth: number, amount = 0): Colour {
  const { light, haze, hazeStrength } = stage.palette;
  const far = Math.max(0, Math.min(1, 1 - depth));
  return mix(under(light, shade(colourOf(colour), amount)), haze, hazeStrength * far ** 1.4);
}

/** How one thing of a mention looks at a depth. */
export function lookOf(stage: Stage, random: Random, mention: Mention, index: number, depth: number): Look {
  const { description } = stage.setting;
  return {
    drawing: stage.drawing,
    random,
    seen: (colour) => seen(stage, colour, depth),
    ...coloursOf(mention, index),
    side: stage.light.side,
    isLamplit: stage.palette.isLamplit,
    season: stage.says('snow', 'snowfall') ? 'winter' : description.season,
  };
}

export function hasSun({ setting }: Stage): boolean {
  const isHidden = speaksOf(setting.description, 'storm', 'rain', 'lightning', 'snowfall');
  if (isHidden && !speaksOf(setting.description, 'sun', 'rainbow')) return false;
  const isNight = setting.time === 'night' || setting.time === 'dusk';
  return speaksOf(setting.description, 'sun') || !isNight;
}

export function hasMoon({ setting }: Stage): boolean {
  return speaksOf(setting.description, 'moon', 'crescent') || setting.time === 'night';
}

/** A little darker towards the corners, from a share of the way out. */
export function darkCorners({ width, height, drawing }: Stage, from: number, strength: number): string {
  const fill = drawing.radial([0, [0, 0, 0], 0], [from, [10, 8, 24], 0], [1, [10, 8, 24], strength]);
  return box([-width * 0.25, -height * 0.25], width * 1.5, height * 1.5, fill);
}

function horizonOf({ ground, description }: Setting, random: Random): number {
  const isOpen = ground === 'sea' || ground === 'beach';
  const isHigh = speaksOf(description, 'sky', 'aurora', 'star', 'balloon');
  const base = isOpen ? random.between(0.52, 0.6) : random.between(0.54, 0.62);
  return base + (isHigh ? 0.06 : 0);
}

function lightOf(setting: Setting, random: Random, width: number, horizon: number): Stage['light'] {
  const side = random.chance(0.5) ? -1 : 1;
  const x = width * (0.5 + side * random.between(0.08, 0.3));
  const heights = {
    dawn: random.between(0.78, 0.95),
    morning: random.between(0.45, 0.62),
    noon: random.between(0.16, 0.26),
    afternoon: random.between(0.4, 0.6),
    sunset: random.between(0.8, 0.96),
    dusk: mentionOf(setting.description, 'moon') === undefined ? 0.97 : 0.5,
    night: random.between(0.22, 0.42),
  };
  return { at: [x, horizon * heights[setting.time]], side };
}
