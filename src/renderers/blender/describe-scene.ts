/** Turns a prompt into objects, light and view for worker.py, with the layout of the scene renderer. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { singularOf } from '../language/other-words.ts';
import type { Prompt } from '../language/read-prompt.ts';
import {
  across,
  dot,
  lengthOf,
  minus,
  normal,
  plus,
  times,
  toward,
  unit,
  type Vector,
} from '../scene/vector.ts';
import { eyeOf, rayOf } from '../scene/draw/eye.ts';
import { fogOf, skyToward, type SkyView, skyViewOf } from '../scene/draw/light.ts';
import { planPicture, type PicturePlan } from '../scene/plan-picture.ts';
import {
  type AnyPart,
  backdropsOf,
  behind,
  type Piece,
  shoreAway,
  soilOf,
  waterColour,
} from '../scene/around/backdrops.ts';
import { mix, type Colour } from '../colour.ts';
import { hashOf, createRandom, cloudNoise, chanceAt, fade } from '../random.ts';
import { sizeOf, lathe, type Part, post, type Shape, straight, tube, turns } from '../scene/things/parts.ts';
import { type Light, type Daylight, linear } from '../scene/layout/setting-of.ts';

/** A scene as worker.py reads it. Y is up. */
export interface SceneDescription {
  objects: (Placed & { parts: DescribedPart[] })[];
  /** Paths of two images: the sky all around, and the part that the camera sees. */
  sky: [around: string, seen: string];
  skyStrength: number;
  sun: { to: Vector; light: Light; degrees: number };
  fog: { near: number; far: number; light: Light };
}

interface Placed {
  name: string;
  at: Vector;
  yaw: number;
  lean: number;
  scale: number;
  /** True for surroundings, which the camera doesn't need to frame. */
  isAround: boolean;
}

interface DescribedPart extends Omit<AnyPart, 'paint'> {
  paint: { light: Light; material: string };
}

/** The same view in the form of the input's `camera`. Z is up. */
export interface DescribedView {
  location: Vector;
  look_at: Vector;
  lens: number;
}

/** Describes the picture of a prompt. Writes the images of its sky into `folder`. */
export function describeScene(
  text: string,
  seed: number,
  [width, height]: readonly [number, number],
  folder: string,
): {
  plan: SceneDescription;
  view: DescribedView;
  words: Pick<Prompt, 'labelledWords' | 'ignoredWords' | 'notes'>;
} {
  const aspect = width / height;
  const plan = planPicture(text, seed, aspect);
  const { setting, daylight, view, box, prompt } = plan;
  const counts = new Map<string, number>();
  const things = plan.things.map(({ subject, parts, at, yaw, lean, scale }) => {
    const said = prompt.subjects[subject];
    const noun = said?.noun === 'label' ? singularOf(said.word) : (said?.noun ?? 'thing');
    counts.set(noun, (counts.get(noun) ?? 0) + 1);
    const name = `${noun} ${counts.get(noun) ?? 1}`;
    return { name, parts: parts.map(described), at, yaw, lean, scale, isAround: false };
  });
  const around = surroundingsOf(plan).map(({ name, parts }) => {
    const place = { at: [0, 0, 0] as const, yaw: 0, lean: 0, scale: 1 };
    return { name, parts: parts.map(described), ...place, isAround: true };
  });
  const away = lengthOf(minus(view.from, view.to));
  const [near, far] = fogOf(daylight, Math.max(...sizeOf(box)));
  const isAirless = setting.ground === 'space' || setting.ground === 'floor';
  const half = Math.tan((view.fieldOfView * Math.PI) / 360) * Math.max(1, aspect);
  return {
    plan: {
      objects: [...things, ...around],
      sky: writeSky(plan, aspect, Math.min(width * height, maxSkyPixels), folder),
      skyStrength: daylight.isStudio ? 0.4 : 1,
      sun: { to: daylight.sunAt, light: daylight.sun, degrees: daylight.isStudio ? 10 : 3 },
      fog: {
        near: isAirless ? 1000 : away + near,
        far: isAirless ? 2000 : away + far,
        light: skyLight(daylight, toward(view.facing + Math.PI, 0), skyDetail(plan, aspect)),
      },
    },
    view: { location: zUp(view.from), look_at: zUp(view.to), lens: 18 / half },
    words: prompt,
  };
}

function zUp([x, y, z]: Vector): Vector {
  return [x, -z, y];
}

function described({ paint: { colour, material }, ...part }: AnyPart): DescribedPart {
  const shape = part.shape.kind === 'sheet' ? part.shape : sheetOf(part.shape);
  return { ...part, shape, paint: { light: linear(colour), material } };
}

const maxSkyPixels = 200_000;

/** Writes two images: the sky as it lights and reflects, and the background that the camera sees. */
function writeSky(
  plan: PicturePlan,
  aspect: number,
  pixels: number,
  folder: string,
): SceneDescription['sky'] {
  const { daylight, view } = plan;
  const [detail, ground] = [skyDetail(plan, aspect), groundLight(plan)];
  const around = radiance(128, 64, (x, y) => {
    // Directions as Blender maps them: its z is up, and its y leads away.
    const [turned, up] = [(0.5 - x) * 2 * Math.PI, (0.5 - y) * Math.PI];
    const to: Vector = [Math.cos(up) * Math.cos(turned), Math.sin(up), -Math.cos(up) * Math.sin(turned)];
    return to[1] < -0.02 ? ground : skyLight(daylight, to, { ...detail, isSeen: false });
  });
  const high = Math.round(Math.sqrt(pixels / aspect));
  const wide = Math.round(high * aspect);
  const eye = eyeOf(view, wide, high);
  const seen = radiance(wide, high, (x, y) =>
    skyLight(daylight, normal(rayOf(eye, x * wide, y * high)), detail),
  );
  const files: SceneDescription['sky'] = [join(folder, 'around.hdr'), join(folder, 'seen.hdr')];
  writeFileSync(files[0], around);
  writeFileSync(files[1], seen);
  return files;
}

/** Returns an image in the Radiance format: rows from the top, each pixel with three mantissas and an exponent. */
function radiance(width: number, height: number, lightAt: (x: number, y: number) => Light): Buffer {
  const head = Buffer.from(`#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y ${height} +X ${width}\n`);
  const pixels = Buffer.alloc(width * height * 4);
  for (let index = 0; index < width * height; index += 1) {
    const light = lightAt(((index % width) + 0.5) / width, (Math.floor(index / width) + 0.5) / height);
    const exponent = Math.ceil(Math.log2(Math.max(...light, 1e-9) * 1.01));
    const mantissas = times(light, 256 / 2 ** exponent).map((part) => Math.max(0, Math.floor(part)));
    pixels.set([...mantissas, exponent + 128], index * 4);
  }
  return Buffer.concat([head, pixels]);
}

interface SkyDetail {
  /** True if the eye sees it: with moon and stars. False for light and reflections. */
  isSeen: boolean;
  view: SkyView;
  moonAt: Vector;
}

/** Returns the light from a direction of the sky, or from the lamps of a studio. */
function skyLight(daylight: Daylight, to: Vector, { isSeen, view, moonAt }: SkyDetail): Light {
  if (daylight.isStudio) return studioLight(daylight, to, isSeen);
  const light = skyToward(daylight, to, view);
  if (!isSeen) return light;
  const starry = plus(light, starsAt(daylight, to));
  return daylight.hasMoon ? withMoon(starry, dot(to, moonAt), to) : starry;
}

/** Light of a pale room with a large lamp above and a strip at the side. */
function studioLight(daylight: Daylight, [x, y, z]: Vector, isSeen: boolean): Light {
  const wall = mix([0.62, 0.615, 0.6], [0.36, 0.38, 0.42], Math.min(1, Math.max(0, y * 2.2)));
  if (isSeen) return wall;
  const lamp = y > 0.55 && Math.abs(x) < 0.55 && Math.abs(z) < 0.6 ? 3.2 : 0;
  const strip = Math.abs(y - 0.35) < 0.3 && dot([x, 0, z], daylight.sunAt) > 0.62 ? 2.4 : 0;
  return plus(times(wall, 1.5), [lamp + strip, lamp + strip, (lamp + strip) * 0.97]);
}

function starsAt({ stars }: Daylight, [x, y, z]: Vector): Light {
  if (stars <= 0 || y < 0.02) return [0, 0, 0];
  const cells = 46;
  const [a, b] = [Math.atan2(x, z) * cells, Math.asin(Math.min(1, y)) * cells];
  const [ia, ib] = [Math.floor(a), Math.floor(b)];
  const chance = chanceAt(ia, ib, 0);
  if (chance > 0.34) return [0, 0, 0];
  const away = Math.hypot(
    (a - ia - 0.25 - chanceAt(ia, ib, 1) * 0.5) * Math.sqrt(1 - y * y),
    b - ib - 0.25 - chanceAt(ia, ib, 2) * 0.5,
  );
  const shine = Math.max(0, 1 - away / (0.05 + 0.13 * chanceAt(ia, ib, 3) ** 2)) * stars * 1.4;
  return [shine, shine * 0.97, shine * (0.9 + 0.2 * chance)];
}

function withMoon(light: Light, toMoon: number, [x, y, z]: Vector): Light {
  const away = Math.acos(Math.min(1, toMoon));
  const disc = fade((0.052 - away) / 0.004);
  const seas = 0.82 + 0.3 * cloudNoise(x * 38, y * 38, z * 38, 3);
  const halo = plus(light, times([0.5, 0.6, 0.85], 0.28 * Math.exp(-away * 12)));
  return mix(halo, [1.15 * seas, 1.13 * seas, 1.04 * seas], disc);
}

/** Details of the sky. The moon is placed where the camera sees it. */
function skyDetail({ seed, view }: PicturePlan, aspect: number): SkyDetail {
  const [x, y, z] = minus(view.to, view.from);
  const moonAt = toward(view.facing + Math.PI + 0.15, Math.atan2(y, Math.hypot(x, z)) + 0.19);
  return { isSeen: true, view: skyViewOf(eyeOf(view, aspect, 1), hashOf(seed) % 1000, false), moonAt };
}

function groundLight({ daylight, setting }: PicturePlan): Light {
  const lit = mix(daylight.sky, daylight.sun, 0.12);
  return times(lit, setting.ground === 'snow' ? 0.7 : setting.ground === 'space' ? 0.02 : 0.32);
}

/** Returns backdrops, ground, water, rain and snow. */
function surroundingsOf(plan: PicturePlan): Piece[] {
  const { ground, hasWater, weather } = plan.setting;
  const pieces = backdropsOf(plan);
  if (ground !== 'space') pieces.push({ name: 'ground', parts: [groundOf(plan)] });
  if (hasWater) pieces.push({ name: 'water', parts: [lakeBehind(plan)] });
  if (weather === 'rain' || weather === 'storm' || weather === 'snowfall')
    pieces.push({ name: weather, parts: falling(plan) });
  return pieces;
}

function groundDisc(at: Vector, colour: Colour, material: string): AnyPart {
  return { ...post(at, 220, 0.002, '#000000', straight, 96), paint: { colour, material } };
}

function groundOf(plan: PicturePlan): AnyPart {
  const { ground, weather } = plan.setting;
  const colour = soilOf(plan);
  const isWet = (weather === 'rain' || weather === 'storm') && (ground === 'road' || ground === 'stone');
  if (isWet) return groundDisc([0, 0, 0], mix(colour, [0, 0, 0], 0.4), 'plastic');
  return groundDisc(
    [0, ground === 'water' ? 0.1 : 0, 0],
    colour,
    ground === 'water' ? ground : `ground ${ground}`,
  );
}

/** Water from a shore behind the things to the horizon. */
function lakeBehind(plan: PicturePlan): AnyPart {
  const [x, z] = behind(plan, shoreAway(plan) + 220);
  return groundDisc([x, 0.03, z], waterColour, 'water');
}

/** Converts a shape with a curved surface into rows of points, with faces between them. */
function sheetOf(shape: Shape): AnyPart['shape'] {
  const around = turns(32);
  if (shape.kind === 'ring') {
    const profile = around.map(
      ([cos, sin]) => [shape.radius + shape.thickness * cos, shape.thickness * sin] as const,
    );
    return { kind: 'sheet', rows: lathe(profile, around) };
  }
  if (shape.kind === 'turned') return { kind: 'sheet', rows: lathe(shape.profile, around) };
  if (shape.kind === 'bend') return { kind: 'sheet', rows: tube(shape.points, shape.radius, 8, 32) };
  return shape;
}

/** Raindrops or snowflakes between the camera and the area behind the things. */
function falling({ view: { from, to, fieldOfView }, setting, seed }: PicturePlan): Part[] {
  const random = createRandom(`falling ${seed}`);
  const [back, away] = [unit(minus(from, to)), lengthOf(minus(from, to))];
  const [right, above] = across(back);
  const half = Math.tan((fieldOfView * Math.PI) / 360);
  return Array.from({ length: 320 }, () => {
    const deep = away * random.between(0.25, 1.5);
    const [x, y] = [random.between(-1.6, 1.6) * half * deep, random.between(-1, 1) * half * deep];
    const at = plus(plus(plus(from, times(back, -deep)), times(right, x)), times(above, y));
    const size = half * away * random.between(0.004, 0.011);
    return setting.weather === 'snowfall'
      ? post(at, size, size * 1.6, '#ffffff', [random.next(), 0, random.next()], 6)
      : post(at, size * 0.16, size * 9, '#c8d4e0 glass', [0, 0, 0.1], 4);
  });
}
