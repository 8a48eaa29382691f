/** Validates a job's input for Blender and applies all limits. Errors are sentences for the sender. */
import { z } from 'zod';
import { hashOf } from '../random.ts';

export const maxPixels = 4096 * 4096;
const maxSide = 8192;
export const maxSamples = 4096;
const maxFileBytes = 256 * 1024 * 1024;

const passes = ['depth', 'normal', 'segmentation'] as const;

/** Error for an input that cannot be rendered; the message is a sentence for the sender. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
}

const finite = (expected: string, low = -1e6, high = 1e6) =>
  z.number(expected).min(low, expected).max(high, expected);
const whole = (low: number, high: number) => {
  const expected = `a whole number from ${low} to ${high}`;
  return z.int(expected).min(low, expected).max(high, expected);
};
const share = finite('a number from 0 to 1', 0, 1);
const point = z.tuple(
  [finite('a number'), finite('a number'), finite('a number')],
  'three numbers [x, y, z]',
);
const colour = z.tuple([share, share, share], 'three numbers from 0 to 1: red, green and blue');
const name = z.string('a name').min(1, 'a name').max(500, 'a name of at most 500 characters');
const angles = {
  azimuth: finite('degrees', -3600, 3600).optional(),
  elevation: finite('degrees from -89 to 89', -89, 89).optional(),
};

const camera = z
  .strictObject({
    location: point,
    look_at: point,
    lens: finite('millimetres from 1 to 5000', 1, 5000),
    ...angles,
  })
  .partial();
const light = z
  .strictObject({
    ...angles,
    strength: finite('a number from 0 to 1000', 0, 1000),
    color: colour,
    sky: finite('a number from 0 to 1000', 0, 1000),
  })
  .partial();
const material = z.strictObject({ color: colour, roughness: share, metallic: share, alpha: share }).partial();

/** Null counts as unset. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);

const request = z.object({
  scene: optional(z.string('a text').max(1_000_000, 'at most 1000000 characters')),
  prompt: optional(z.string('a text').max(1_000_000, 'at most 1000000 characters')),
  blend: optional(name),
  gltf: optional(name),
  obj: optional(name),
  file_base64: optional(
    z.base64('a file as base64').max((maxFileBytes / 3) * 4, 'a file of at most 256 MiB'),
  ),
  format: optional(z.enum(['blend', 'gltf', 'glb', 'obj'], 'blend, gltf, glb or obj')),
  script: optional(name),
  camera: optional(
    z.union([name, camera], 'the name of a camera of the file, or such as {azimuth: 30, elevation: 18}'),
  ),
  frame: optional(whole(-1_000_000, 1_000_000)),
  materials: optional(
    z.record(name, material, 'materials by name, such as {"Paint": {"color": [0.8, 0.1, 0.1]}}'),
  ),
  light: optional(light),
  ground: optional(z.boolean('true or false')),
  samples: optional(whole(1, maxSamples)),
  engine: optional(z.enum(['cycles', 'eevee'], 'cycles or eevee')),
  device: optional(
    z.enum(['auto', 'cpu', 'cuda', 'optix', 'hip', 'oneapi'], 'auto, cpu, cuda, optix, hip or oneapi'),
  ),
  width: optional(whole(16, maxSide)),
  height: optional(whole(16, maxSide)),
  seed: optional(whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
  passes: optional(
    z.array(z.enum(passes, `one of ${passes.join(', ')}`), `a list of ${passes.join(', ')}`).max(9),
  ),
});

export type Source =
  | { kind: 'scene'; text: string }
  | { kind: 'blend' | 'gltf' | 'obj'; path: string }
  | { kind: 'blend' | 'gltf' | 'obj'; base64: string; format: string }
  | { kind: 'script'; name: string };

export type RenderRequest = ReturnType<typeof readRequest>;

/** Direction to the sun or the camera. Angle 0 is the front, which looks along y; positive angles turn right. */
function direction(azimuth: number, elevation: number): [number, number, number] {
  const [around, up] = [(azimuth * Math.PI) / 180, (elevation * Math.PI) / 180];
  return [Math.sin(around) * Math.cos(up), -Math.cos(around) * Math.cos(up), Math.sin(up)];
}

function cameraOf(given: z.output<typeof camera>) {
  const { azimuth = 30, elevation = 18, lens = 50, ...others } = given;
  return { ...others, lens, from: direction(azimuth, elevation) };
}

function lightOf(given: z.output<typeof light>) {
  const { azimuth = -35, elevation = 48, strength = 2.2, color = [1, 0.96, 0.9], sky = 0.5 } = given;
  return { to: direction(azimuth, elevation), strength, color, sky };
}

export function readRequest(input: Record<string, unknown>) {
  const read = request.safeParse(input);
  if (!read.success) {
    const [issue] = read.error.issues;
    const key = issue?.path.join('.') ?? '';
    const unknown = issue?.code === 'unrecognized_keys' ? `has no ${issue.keys.join(', ')}` : undefined;
    throw new RequestError(`'${key}' ${unknown ?? `must be ${issue?.message ?? 'something else'}`}.`);
  }
  const { scene, prompt, blend, gltf, obj, file_base64: base64, format, script, ...rest } = read.data;
  const text = scene ?? prompt;
  const found: (Source | null)[] = [
    text === null ? null : { kind: 'scene', text },
    blend === null ? null : { kind: 'blend', path: blend },
    gltf === null ? null : { kind: 'gltf', path: gltf },
    obj === null ? null : { kind: 'obj', path: obj },
    base64 === null ? null : fileOf(base64, format),
    script === null ? null : { kind: 'script', name: script },
  ];
  const [source, another] = found.filter((each) => each !== null);
  if (source === undefined || another !== undefined || text?.trim() === '')
    throw new RequestError(
      "The input needs exactly one of 'scene' (words), 'blend', 'gltf', 'obj' (a path), 'file_base64' and 'script'.",
    );
  if ((rest.width ?? 1) * (rest.height ?? 1) > maxPixels)
    throw new RequestError(`'width' times 'height' must be at most ${maxPixels} pixels.`);
  const { camera: seenBy, light: lit } = rest;
  const seed = rest.seed ?? hashOf(JSON.stringify(source));
  return {
    ...rest,
    camera: seenBy === null || typeof seenBy === 'string' ? seenBy : cameraOf(seenBy),
    usualCamera: cameraOf({}),
    light: lit && lightOf(lit),
    usualLight: lightOf({}),
    source,
    seed,
    passes: [...new Set(rest.passes)],
  };
}

function fileOf(base64: string, format: 'blend' | 'gltf' | 'glb' | 'obj' | null): Source {
  if (format === null)
    throw new RequestError("'format' must say what 'file_base64' is: blend, gltf, glb or obj.");
  return { kind: format === 'glb' ? 'gltf' : format, base64, format };
}
