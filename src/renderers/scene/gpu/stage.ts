/** What stays from picture to picture, since its shaders are slow to make: scene, camera, lamps, skies and materials. */
import { Geometries } from './geometry.ts';
import { makeLamps, type Lamps } from './lamps.ts';
import { Materials } from './materials.ts';
import { makeSkies, type SkyTextures } from './sky-textures.ts';
import type { Camera, Renderer, Scene, Three } from './three-module.ts';

export interface Stage {
  three: Three;
  scene: Scene;
  camera: Camera;
  lamps: Lamps;
  skies: SkyTextures;
  geometries: Geometries;
  materials: Materials;
}

export function makeStage(three: Three, renderer: Renderer): Stage {
  const scene = new three.Scene();
  const [lamps, skies] = [makeLamps(three), makeSkies(three, renderer)];
  scene.add(lamps.sun, lamps.sun.target, lamps.sky, lamps.sky.target);
  scene.background = skies.seen;
  scene.environment = skies.mirrored.texture;
  scene.fog = new three.Fog(new three.Color(), 1, 1000);
  const camera = new three.PerspectiveCamera(30, 1, 0.05, 400);
  return {
    three,
    scene,
    camera,
    lamps,
    skies,
    geometries: new Geometries(three),
    materials: new Materials(three),
  };
}
