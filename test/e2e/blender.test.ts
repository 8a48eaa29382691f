/**
 * Promise: Blender renders words, files and scripts, identically each time. Hostile files reach nothing, and
 * a job that hangs, leaks memory or crashes affects only itself.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import sharp from 'sharp';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { blenderNight } from '../chaos/blender-night.ts';
import { folderWith, testKey } from './cli.ts';
import { childrenOf, Served, type Job } from './served.ts';

const env = { NIGHTRENDER_API_KEY: testKey };
const found = spawnSync('blender', ['--version'], { encoding: 'utf8' });
/** Blender's own Python may differ from the one on PATH. */
const hasNumpy =
  spawnSync('blender', [
    '-b',
    '--factory-startup',
    '--python-exit-code',
    '1',
    '--python-expr',
    'import numpy',
  ]).status === 0;
const skipped =
  found.status !== 0
    ? '(skipped: there is no blender here)'
    : hasNumpy
      ? ''
      : '(skipped: its Python has no numpy)';

interface Rendered {
  rendered_image: string;
  seed: number;
  engine: string;
  ignored_words?: string[];
  files: Record<string, string>;
  camera: { matrix_world: number[][]; intrinsics: number[][]; width: number; height: number };
  objects: { name: string; index: number; box_2d: number[] | null; box_3d: number[][] }[];
}

const small = { width: 96, height: 64, samples: 2 };

async function start(endpoint: object = {}): Promise<Served> {
  const own = { name: 'Blender', quickDeploy: 'blender', retries: 1, ...endpoint };
  return await Served.start(
    folderWith({ 'service.yaml': JSON.stringify({ endpoints: [own] }) }),
    ['service.yaml'],
    env,
  );
}

function pictureOf({ status, error, output }: Job): Rendered {
  if (status !== 'COMPLETED') throw new Error(`${status}: ${error}`);
  const [picture] = output as Rendered[];
  return picture ?? expect.fail('there is no picture');
}

const bytesOf = ({ rendered_image: image }: Rendered): Buffer => Buffer.from(image, 'base64');

it('says what to install if there is no Blender, and what is wrong with a program', async () => {
  const service = await start({ quickStart: true, environment: { PATH: '/nowhere' } });
  await expect
    .poll(() => service.program.stderr)
    .toMatch(
      /endpoint blender: a worker cannot be started: there is no program blender in PATH: install Blender 3\.3 or later/,
    );
});

describe.skipIf(skipped !== '')(`with Blender ${skipped}`, () => {
  let folder = '';
  let blender: object = {};
  let service: Served | undefined;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightrender-blender-test-'));
    const maker = resolve(import.meta.dirname, '../fixtures/blender-files.py');
    execFileSync(
      'blender',
      ['-b', '--factory-startup', '-noaudio', '--python-exit-code', '1', '-P', maker, '--', folder],
      {
        stdio: 'ignore',
      },
    );
    blender = { assets: join(folder, 'assets'), scripts: join(folder, 'scripts') };
    return () => rmSync(folder, { recursive: true });
  });

  beforeEach(() => void (service = undefined));
  /** Renders a job with the service of this test. */
  const done = async (input: object, policy: object = {}): Promise<Job> => {
    service ??= await start({ blender, memory: '900MB' });
    return await service.done('blender', { ...small, ...input }, policy);
  };
  const base64 = (file: string): string => readFileSync(join(folder, 'assets', file), 'base64');

  const kinds: [string, () => object][] = [
    ['words', () => ({ scene: 'a red ball on a blue table' })],
    ['a prompt', () => ({ prompt: 'two trees beside a lake at dawn' })],
    ['a .blend file', () => ({ blend: 'model.blend' })],
    ['a packed one', () => ({ blend: 'packed.blend' })],
    ['one with a texture in the folder', () => ({ blend: 'own-image.blend' })],
    ['binary glTF', () => ({ gltf: 'model.glb' })],
    ['glTF with a file beside it', () => ({ gltf: 'model.gltf', camera: { azimuth: -30, elevation: 40 } })],
    ['OBJ', () => ({ obj: 'model.obj', light: { azimuth: 60 } })],
    ['one with a library by a relative path', () => ({ blend: 'room.blend' })],
    ['one with a library in a folder with an umlaut', () => ({ blend: 'möblierter-raum.blend' })],
    ['one with a node that names no file', () => ({ blend: 'empty-node.blend' })],
    ['a script', () => ({ script: 'spheres.py', count: 4 })],
    ['a file that is sent along', () => ({ file_base64: base64('model.glb'), format: 'glb' })],
    ['a .blend that is sent along', () => ({ file_base64: base64('model.blend'), format: 'blend' })],
  ];
  it('renders words, files and scripts', async () => {
    for (const [what, input] of kinds) {
      const picture = pictureOf(await done({ ...input(), seed: 1 }));
      const { format, width, height } = await sharp(bytesOf(picture)).metadata();
      expect([format, width, height], what).toEqual(['png', 96, 64]);
      const { channels } = await sharp(bytesOf(picture)).stats();
      expect(Math.max(...channels.map(({ stdev }) => stdev)), what).toBeGreaterThan(5);
      expect(picture).toMatchObject({ seed: 1, engine: 'cycles', device: 'cpu' });
    }
  });

  it('understands the words of the other renderers, and says which it left out', async () => {
    expect(pictureOf(await done({ scene: 'a red ball and a zyx, masterpiece' }))).toMatchObject({
      labelled_words: ['zyx'],
      ignored_words: ['masterpiece'],
    });
  });

  it('paints materials of a file in the requested colours', async () => {
    const materials = { Ball: { color: [0.9, 0, 0] }, Ring: { color: [0.9, 0, 0] } };
    const { channels } = await sharp(
      bytesOf(pictureOf(await done({ blend: 'model.blend', materials }))),
    ).stats();
    const [red, green] = channels.map((channel) => channel.mean);
    expect(red).toBeGreaterThan(2 * (green ?? 0));
  });

  it('gives depth, normals and segmentation with the camera and the boxes of objects', async () => {
    const passes = ['depth', 'normal', 'segmentation'];
    const picture = pictureOf(await done({ blend: 'model.blend', passes }));
    expect(Object.keys(picture.files).toSorted()).toEqual(passes);
    expect(picture.objects.map(({ name, index }) => [name, index])).toEqual([
      ['Ball', 1],
      ['Ring', 2],
    ]);
    const mask = sharp(Buffer.from(picture.files['segmentation'] ?? '', 'base64'));
    expect(await mask.metadata()).toMatchObject({ width: 96, height: 64, depth: 'ushort' });
    const indexes = new Uint16Array(
      (await mask.toColourspace('grey16').raw({ depth: 'ushort' }).toBuffer()).buffer,
    );
    expect(new Set(indexes)).toEqual(new Set([0, 1, 2]));
    const [left = 0, top = 0, right = 0, bottom = 0] = picture.objects[0]?.box_2d ?? [];
    const [x, y] = [Math.floor((left + right) / 2), Math.floor((top + bottom) / 2)];
    expect(indexes[y * 96 + x]).toBe(1);
    // The centre of the ball, as the camera sees it, must be in the middle of its box. Its depth must match
    // the front of the box.
    const { matrix_world: camera, intrinsics } = picture.camera;
    const center = [0, 1, 2].map((axis) =>
      mean(picture.objects[0]?.box_3d.map((corner) => corner[axis] ?? 0) ?? []),
    );
    const seen = [0, 1, 2].map((axis) =>
      [0, 1, 2].reduce(
        (sum, row) => sum + (camera[row]?.[axis] ?? 0) * ((center[row] ?? 0) - (camera[row]?.[3] ?? 0)),
        0,
      ),
    );
    const [across = 0, up = 0, back = 0] = seen;
    expect((intrinsics[0]?.[0] ?? 0) * (across / -back) + (intrinsics[0]?.[2] ?? 0)).toBeCloseTo(x, -1);
    expect((intrinsics[1]?.[1] ?? 0) * (up / back) + (intrinsics[1]?.[2] ?? 0)).toBeCloseTo(y, -1);
    const depth = readBack(picture.files['depth'] ?? '', x, y);
    expect(depth[0]).toBeGreaterThan(-back - 0.7);
    expect(depth[0]).toBeLessThan(-back);
    expect(Math.hypot(...readBack(picture.files['normal'] ?? '', x, y).slice(0, 3))).toBeCloseTo(1, 1);
  });

  /** Reads a pixel of an EXR file with Blender itself. */
  function readBack(exr: string, x: number, y: number): number[] {
    const script = `
import bpy, base64, os
path = os.path.join(${JSON.stringify(folder)}, 'back.exr')
open(path, 'wb').write(base64.b64decode(${JSON.stringify(exr)}))
image = bpy.data.images.load(path)
width, height = image.size
at = ((height - 1 - ${y}) * width + ${x}) * 4
print('VALUES', *image.pixels[at:at + 4])`;
    const file = join(folder, 'back.py');
    writeFileSync(file, script);
    const options = ['-b', '--factory-startup', '-noaudio', '--python-exit-code', '1', '-P', file];
    const said = execFileSync('blender', options, { encoding: 'utf8' });
    return (/VALUES (.*)/.exec(said)?.[1] ?? '').split(' ').map(Number);
  }

  it('renders the same bytes for the same seed in another process, and others for another seed', async () => {
    const inputs = [{ scene: 'a red ball' }, { gltf: 'model.glb' }, { script: 'spheres.py', count: 3 }];
    const first = await Promise.all(inputs.map((input) => done({ ...input, seed: 5 })));
    const other = await start({ blender });
    for (const [index, input] of inputs.entries()) {
      const again = await other.done('blender', { ...small, ...input, seed: 5 });
      const different = await other.done('blender', { ...small, ...input, seed: 6 });
      // The comparison is reduced to a boolean, because a failure would otherwise print the pictures.
      const before = pictureOf(first[index] ?? again).rendered_image;
      expect(pictureOf(again).rendered_image === before).toBe(true);
      expect(pictureOf(different).rendered_image === before).toBe(false);
    }
  });

  const hostile: [string, object, RegExp][] = [
    [
      'a path out of the folder',
      { blend: '../outside/library.blend' },
      /leads out of the folder that the endpoint allows/,
    ],
    [
      'a symbolic link out of it',
      { blend: 'symlink.blend' },
      /leads out of the folder that the endpoint allows/,
    ],
    [
      'a linked library',
      { blend: 'linked-library.blend' },
      /names .*library\.blend, which leads out of the folder/,
    ],
    [
      'a linked library with an umlaut',
      { blend: 'linked-böse.blend' },
      /names .*\/outside\/böse\.blend, which leads out of the folder/,
    ],
    [
      'a linked picture',
      { blend: 'linked-image.blend' },
      /linked file .*secret\.png is outside of the folder/,
    ],
    [
      'a uri',
      { gltf: 'hostile.gltf' },
      /names \.\.\/\.\.\/\.\.\/\.\.\/etc\/passwd, which leads out of the folder/,
    ],
    ['a uri in disguise', { gltf: 'encoded.gltf' }, /secret\.png, which leads out of the folder/],
    [
      'materials of OBJ',
      { obj: 'hostile.obj' },
      /names \.\.\/outside\/secret\.mtl, which leads out of the folder/,
    ],
    ['a script out of the folder', { script: '../assets/x.py' }, /leads out of the folder/],
  ];
  it('rejects paths that lead out of the folder, with a message', async () => {
    for (const [what, input, text] of hostile) expect((await done(input)).error, what).toMatch(text);
  });

  it('runs no script of a file, and writes none of its outputs', async () => {
    expect((await done({ blend: 'autoexec.blend' })).status).toBe('COMPLETED');
    expect((await done({ blend: 'writes.blend' })).status).toBe('COMPLETED');
    expect(readdirSync(join(folder, 'outside')).toSorted()).toEqual([
      'böse.blend',
      'library.blend',
      'secret.png',
    ]);
  });

  const wrong: [object, RegExp][] = [
    [{}, /needs exactly one of 'scene'/],
    [{ scene: 'a cat', blend: 'model.blend' }, /needs exactly one of 'scene'/],
    [{ blend: 'none.blend' }, /names none\.blend, which is not in the folder of assets/],
    [{ blend: 'model.obj' }, /must be the path of a \.blend file/],
    [{ scene: 'a cat', samples: 0 }, /'samples' must be a whole number from 1 to 4096/],
    [{ scene: 'a cat', width: 8192, height: 8192 }, /at most 16777216 pixels/],
    [{ scene: 'a cat', device: 'cuda' }, /`device` is cuda, but Blender finds no such GPU/],
    [
      { gltf: 'model.glb', materials: { Gold: { roughness: 1 } } },
      /names Gold, which is not there; there are: Ball, Ring/,
    ],
    [{ blend: 'model.blend', camera: 'Front' }, /names Front, which is not there; there are: Camera/],
    [{ file_base64: 'AAAA', format: 'blend' }, /The file is no \.blend/],
    [{ file_base64: 'AAAA', format: 'glb' }, /The file is no glTF/],
    [{ file_base64: 'AAAA' }, /'format' must say what/],
  ];
  it('rejects what it cannot render, and continues', async () => {
    for (const [input, text] of wrong) expect((await done(input)).error, JSON.stringify(input)).toMatch(text);
    expect((await done({ scene: 'a cat' })).status).toBe('COMPLETED');
  });

  it('reads no file and runs no script if the endpoint names no folder', async () => {
    const bare = await start();
    expect((await bare.done('blender', { blend: 'model.blend' })).error).toMatch(/sets no folder of assets/);
    expect((await bare.done('blender', { script: 'spheres.py' })).error).toMatch(/sets no folder of scripts/);
  });

  it('names the file and the line at which a script fails, and how it ended', async () => {
    const errorOf = async (script: string): Promise<string> => (await done({ script })).error as string;
    expect(await errorOf('fails.py')).toMatch(/the script failed in fails\.py, line 3: KeyError: .*Nobody/);
    expect(await errorOf('misspelt.py')).toMatch(
      /the script failed in misspelt\.py, line 2: SyntaxError: expected ':'/,
    );
    expect(await errorOf('exits.py')).toBe('the script exited with 7 in exits.py, line 2');
    const left = await errorOf('leaves.py');
    expect(left).toContain('exited with code 7');
    expect(left).not.toContain('SIGKILL');
  });

  it('ends a scene that hangs, for the next job', async () => {
    const hanging = done({ script: 'hangs.py' }, { executionTimeout: 5_000 });
    const next = done({ script: 'spheres.py', count: 1 });
    expect((await hanging).status).toBe('TIMED_OUT');
    expect((await next).status).toBe('COMPLETED');
  });

  it('ends a scene that uses up memory, for the next job', async () => {
    const job = await done({ script: 'eats.py' });
    expect(job.error).toMatch(/exceeded its 859 MiB of memory and was killed/);
    expect((await done({ script: 'spheres.py', count: 1 })).status).toBe('COMPLETED');
  });

  it('repeats a job whose Blender was killed', async () => {
    const own = await start();
    const id = await own.submit('blender', { scene: 'a forest', width: 256, height: 256, samples: 300 });
    await expect.poll(async () => (await own.status('blender', id)).output).toEqual(expect.anything());
    const worker = workerOf(own);
    for (const pid of childrenOf(worker)) process.kill(pid, 'SIGKILL');
    expect((await own.ended('blender', id)).status).toBe('COMPLETED');
    expect(own.program.stderr).toMatch(/its last line was: Blender was killed by SIGKILL/);
  });

  it('leaves no file of a job behind', async () => {
    const own = await start({ blender });
    pictureOf(await own.done('blender', { ...small, scene: 'a cat' }));
    const worker = workerOf(own);
    const left = /TMPDIR=([^\0]+)/.exec(readFileSync(`/proc/${worker}/environ`, 'utf8'))?.[1] ?? '';
    expect(readdirSync(left).filter((name) => name.startsWith('job-'))).toEqual([]);
    expect((await own.stop()).code).toBe(0);
    await expect.poll(() => existsSync(left)).toBe(false);
  });

  it('loses no job of a night in which Blender is killed again and again', async () => {
    const night = await blenderNight({ jobs: 40, killEveryMs: 10_000, memory: '900MB' });
    expect(night).toMatchObject({ completed: 40, lost: [], hanging: 'TIMED_OUT', repeated: 20, unequal: 0 });
    expect(night.eating).toMatch(/exceeded its \d+ MiB of memory/);
  }, 600_000);
});

function workerOf({ program }: Served): number | undefined {
  return childrenOf(program.child.pid).find((pid) => commandOf(pid).includes('module-runner'));
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
