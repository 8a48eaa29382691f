/** The sky as textures: what is seen behind everything, and what lights and is mirrored. */
import type { View } from '../layout/camera.ts';
import type { Daylight, Light } from '../picture/daylight.ts';
import { skyLight, type SkyDetail } from '../picture/sky.ts';
import { across, minus, plus, times, toward, unit, type Vector } from '../vector.ts';
import type { EnvironmentMaker, Renderer, RenderTarget, Texture, Three } from './three-module.ts';

export interface SkyTextures {
  /** Behind everything, as wide and high as the picture whatever its form. */
  seen: Texture;
  /** All around, as a map of the world. */
  around: Texture;
  /** The same as what lights and is mirrored, sharp and blurred. */
  mirrored: RenderTarget;
  maker: EnvironmentMaker;
}

export function makeSkies(three: Three, renderer: Renderer): SkyTextures {
  const around = blank(three, 128, 64);
  around.mapping = three.EquirectangularReflectionMapping;
  around.wrapS = three.RepeatWrapping;
  const maker = smallMaker(three, renderer);
  return { seen: blank(three, 512, 512), around, mirrored: maker.fromEquirectangular(around), maker };
}

/** By itself it blurs skies of at least 256 pixels, which takes an adapter in software longer than the picture. */
function smallMaker(three: Three, renderer: Renderer): EnvironmentMaker {
  const maker = new three.PMREMGenerator(renderer);
  return Object.assign(maker, { _cubeSize: mirroredPixels, _setSize: () => undefined });
}

/** Of a side of the cube that is mirrored; the map around it has fewer. */
const mirroredPixels = 64;

function blank(three: Three, width: number, height: number): Texture {
  const data = new Uint16Array(width * height * 4).fill(three.DataUtils.toHalfFloat(1));
  const texture = new three.DataTexture(data, width, height, three.RGBAFormat, three.HalfFloatType);
  texture.magFilter = three.LinearFilter;
  texture.minFilter = three.LinearFilter;
  return texture;
}

export function fillSkies(
  { DataUtils: { toHalfFloat } }: Three,
  { seen, around, mirrored, maker }: SkyTextures,
  daylight: Daylight,
  { view, aspect, ground, detail }: { view: View; aspect: number; ground: Light; detail: SkyDetail },
): void {
  const ray = rayThrough(view, aspect);
  fill(seen, toHalfFloat, (x, y) => skyLight(daylight, ray(x * 2 - 1, y * 2 - 1), detail));
  fill(around, toHalfFloat, (x, y) => {
    const at = toward((0.75 - x) * Math.PI * 2, (y - 0.5) * Math.PI);
    return at[1] < -0.02 ? ground : skyLight(daylight, at, { ...detail, isSeen: false });
  });
  maker.fromEquirectangular(around, mirrored);
}

/** Rows from below. */
function fill(
  texture: Texture,
  toHalfFloat: (value: number) => number,
  light: (x: number, y: number) => Light,
): void {
  const { data, width, height } = texture.image;
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const [red, green, blue] = light((column + 0.5) / width, (row + 0.5) / height);
      const at = (row * width + column) * 4;
      data[at] = toHalfFloat(Math.min(60, red));
      data[at + 1] = toHalfFloat(Math.min(60, green));
      data[at + 2] = toHalfFloat(Math.min(60, blue));
    }
  }
  texture.needsUpdate = true;
}

export function rayThrough(
  { from, to, fieldOfView }: View,
  aspect: number,
): (x: number, y: number) => Vector {
  const back = unit(minus(from, to));
  const [right, above] = across(back);
  const half = Math.tan((fieldOfView * Math.PI) / 360);
  return (x, y) => unit(minus(plus(times(right, x * half * aspect), times(above, y * half)), back));
}
