/** A prompt → the objects, light and view of a picture, as Blender's side takes them; the layout is that of the scene renderer. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { singularOf } from '../language/no-things.ts';
import type { Prompt } from '../language/read-prompt.ts';
import { normal } from '../scene/exact.ts';
import { eyeOf, rayOf } from '../scene/draw/eye.ts';
import { fogOf } from '../scene/draw/light.ts';
import { linear, type Light } from '../scene/picture/daylight.ts';
import { planPicture, type PicturePlan } from '../scene/plan-picture.ts';
import { sizeOf } from '../scene/things/bounds.ts';
import { lengthOf, minus, times, toward, type Vector } from '../scene/vector.ts';
import type { AnyPart } from '../scene/around/backdrops.ts';
import { groundLight, skyDetail, skyLight } from './sky.ts';
import { sheetOf, surroundingsOf } from './surroundings.ts';

/** Y is up. */
export interface SceneDescription {
  objects: (Placed & { parts: DescribedPart[] })[];
  /** Files: all around, and as the camera sees it. */
  sky: [around: string, seen: string];
  /** Of what lights and is mirrored. */
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
  /** What the picture is not of. */
  isAround: boolean;
}

interface DescribedPart extends Omit<AnyPart, 'paint'> {
  paint: { light: Light; material: string };
}

/** As the input's `camera`, for the same place. */
export interface DescribedView {
  location: Vector;
  look_at: Vector;
  lens: number;
}

/** The pictures of its sky go into the folder. */
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

/** What lights and is mirrored, and what the camera sees behind everything. */
function writeSky(
  plan: PicturePlan,
  aspect: number,
  pixels: number,
  folder: string,
): SceneDescription['sky'] {
  const { daylight, view } = plan;
  const [detail, ground] = [skyDetail(plan, aspect), groundLight(plan)];
  const around = radiance(128, 64, (x, y) => {
    // As Blender maps directions: its z is up, and its y leads away.
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

/** A picture in Radiance's format: rows from above, each pixel three mantissas and an exponent. */
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
