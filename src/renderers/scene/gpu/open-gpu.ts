/** Loads three and webgpu from a folder, where they are, and finds a GPU. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Kept } from './kept.ts';
import { makeLamps, type Lamps } from './lamps.ts';
import { installedFolder } from '../renderer-folders.ts';
import { makeSkies, type SkyTextures } from './sky-textures.ts';
import type {
  Camera,
  Geometry,
  GpuDevice,
  Renderer,
  Scene,
  SurfaceMaterial,
  Three,
  WebGpu,
} from './three-module.ts';

export interface Gpu {
  three: Three;
  renderer: Renderer;
  stage: Stage;
  /** Its name, for people. */
  adapter: string;
  /** Three counts frames by the browser's clock of pictures; this is its tick. */
  tick(): void;
  /** Why it was lost, in its words. */
  trouble: string | null;
  /** What it refused of the work, in its words: what it renders then is black or cut; null where all went well. */
  refusedOf(work: () => Promise<unknown>): Promise<string | null>;
  /** Gives its memory back. */
  close(): void;
}

/** There is no GPU to render on; the message says why in a sentence. */
export class NoGpu extends Error {
  /** Or cannot be loaded, as while they are installed. */
  readonly arePeersMissing: boolean;

  constructor(message: string, arePeersMissing: boolean) {
    super(message);
    this.arePeersMissing = arePeersMissing;
  }
}

/** `folders` hold a node_modules with both packages; the first that does is taken. Throws `NoGpu`. */
export async function openGpu(folders: readonly string[]): Promise<Gpu> {
  const folder = installedFolder(folders);
  if (folder === undefined) throw new NoGpu('the packages three and webgpu are not installed', true);
  const webgpu = await load<WebGpu>(folder, 'webgpu/index.js');
  Object.assign(globalThis, webgpu.globals);
  const gpu = webgpu.create([]);
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) throw new NoGpu('Vulkan offers no GPU that WebGPU takes', false);
  const device = await adapter.requestDevice();
  const tick = asBrowser(gpu);
  const three = await load<Three>(folder, 'three/build/three.webgpu.js');
  const renderer = new three.WebGPURenderer({ canvas: noCanvas, device, antialias: false });
  await renderer.init();
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = three.PCFShadowMap;
  const { vendor, architecture, device: name, description } = adapter.info;
  const opened: Gpu = {
    three,
    renderer,
    stage: makeStage(three, renderer),
    adapter: nameOf([description, name, vendor, architecture]),
    tick,
    trouble: null,
    refusedOf: (work) => refusedBy(device, work),
    close: () => device.destroy(),
  };
  void device.lost.then(({ message }) => (opened.trouble ??= `it was lost: ${message}`));
  return opened;
}

/** Rejects as the work does. */
async function refusedBy(device: GpuDevice, work: () => Promise<unknown>): Promise<string | null> {
  for (const filter of errorScopes) device.pushErrorScope(filter);
  const outcome = await Promise.allSettled([work()]);
  const errors = await Promise.all(errorScopes.map(() => device.popErrorScope().catch(() => null)));
  if (outcome[0].status === 'rejected') throw outcome[0].reason;
  return errors.find((error) => error !== null)?.message ?? null;
}

const errorScopes = ['validation', 'out-of-memory', 'internal'] as const;

async function load<Module>(folder: string, file: string): Promise<Module> {
  try {
    return (await import(pathToFileURL(join(folder, 'node_modules', file)).href)) as Module;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new NoGpu(`the package ${file.split('/')[0]} in ${folder} cannot be loaded: ${reason}`, true);
  }
}

function nameOf([description = '', ...rest]: string[]): string {
  const words = rest.filter((word) => word !== '' && !word.startsWith('0x'));
  return description === '' ? words.join(' ') || 'a GPU without a name' : description;
}

/** What three expects of a browser: a GPU, and a clock of pictures that never rings by itself. */
function asBrowser(gpu: unknown): () => void {
  let ring: ((at: number) => void) | undefined;
  let at = 0;
  Object.defineProperty(globalThis, 'navigator', { value: { gpu }, configurable: true });
  const clock = {
    requestAnimationFrame: (callback: (at: number) => void) => {
      ring = callback;
      return 1;
    },
    cancelAnimationFrame: () => undefined,
  };
  Object.assign(globalThis, clock, { self: globalThis });
  return () => {
    at += 1;
    ring?.(at);
  };
}

/** Everything is rendered into textures: nothing asks it for a picture. */
const noCanvas = {
  width: 16,
  height: 16,
  style: {},
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
  getContext: () => ({ configure: () => undefined, unconfigure: () => undefined }),
};

/** What stays from picture to picture, since its shaders are slow to make. */
export interface Stage {
  three: Three;
  scene: Scene;
  camera: Camera;
  lamps: Lamps;
  skies: SkyTextures;
  geometries: Kept<Geometry>;
  materials: Kept<SurfaceMaterial>;
}

function makeStage(three: Three, renderer: Renderer): Stage {
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
    geometries: new Kept<Geometry>(1000),
    materials: new Kept<SurfaceMaterial>(400),
  };
}
