/** The worker of `quickDeploy: blender`: has a Blender process render the input of each job, and makes files of its layers. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { crc32, deflateSync } from 'node:zlib';
import { packageFile } from '../../lib/files/package-file.ts';
import { describeScene } from './describe-scene.ts';
import { findFile } from './find-file.ts';
import { maxPixels, maxSamples, readRequest, type RenderRequest } from './read-request.ts';

interface Job {
  input: Record<string, unknown>;
}

interface Context {
  log(text: unknown): void;
  progress(message: unknown): void;
}

interface Answer {
  ready?: true;
  failed?: string;
  progress?: string;
  error?: string;
  output?: Rendered;
}

interface Rendered {
  engine: string;
  device: string;
  camera?: { width: number; height: number };
  projection?: number[][];
  objects?: { name: string; index: number; box_3d: number[][] }[];
  [key: string]: unknown;
}

const options = JSON.parse(process.env['NIGHTRENDER_BLENDER'] ?? '{"command":["blender"]}') as {
  command: string[];
  assets: string | null;
  scripts: string | null;
};
const blender = await startBlender();

export async function handler({ input }: Job, { progress }: Context): Promise<Record<string, unknown>[]> {
  const request = readRequest(input);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'job-')));
  try {
    return [await render(request, input, folder, progress)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function render(
  request: RenderRequest,
  input: Record<string, unknown>,
  folder: string,
  progress: Context['progress'],
): Promise<Record<string, unknown>> {
  const { source, passes, ...rest } = request;
  const [picture, layers] = [join(folder, 'picture.png'), join(folder, 'layers.exr')];
  const files = { picture, layers, hasPasses: passes.length > 0 };
  const { words, ...what } = sourceOf(request, input, folder);
  const limits = { maxPixels, maxSamples };
  const rendered = await blender({ ...rest, ...what, ...files, ...limits, kind: source.kind }, progress);
  const { objects, camera, projection, ...others } = rendered;
  const answer = {
    rendered_image: plainPng(readFileSync(picture)).toString('base64'),
    seed: request.seed,
    ...(words !== undefined && {
      labelled_words: words.labelledWords,
      ignored_words: words.ignoredWords,
      notes: words.notes,
    }),
    ...others,
  };
  if (objects === undefined) return answer;
  const { files: passFiles, boxes } = readPasses(layers, passes);
  const boxed = objects.map((object) => ({ ...object, box_2d: boxes.get(object.index) ?? null }));
  return { ...answer, files: passFiles, camera: withIntrinsics(camera, projection), objects: boxed };
}

/** Adds the camera's intrinsic matrix, in pixels from the top left corner. */
function withIntrinsics(camera: Rendered['camera'], projection: Rendered['projection'] = []) {
  const { width, height } = camera ?? { width: 0, height: 0 };
  const [[wide = 0, , right = 0] = [], [, high = 0, up = 0] = []] = projection;
  const intrinsics = [
    [(wide * width) / 2, 0, ((1 - right) * width) / 2],
    [0, (high * height) / 2, ((1 + up) * height) / 2],
    [0, 0, 1],
  ];
  return { ...camera, intrinsics };
}

function sourceOf(
  { source, seed, width, height, camera }: RenderRequest,
  input: Job['input'],
  folder: string,
) {
  if (source.kind !== 'scene') return { ...findFile(source, options, folder), input };
  const { plan, view, words } = describeScene(source.text, seed, [width ?? 768, height ?? 512], folder);
  return { path: '', root: folder, plan, camera: camera ?? view, words };
}

async function startBlender(): Promise<
  (message: unknown, progress: Context['progress']) => Promise<Rendered>
> {
  const [program = '', ...before] = options.command;
  const side = packageFile('dist/renderers/blender/worker.py');
  const own = [
    '--background',
    '--factory-startup',
    '--disable-autoexec',
    '-noaudio',
    '--python-exit-code',
    '1',
  ];
  const child = spawn(program, [...before, ...own, '--python', side], { stdio: ['pipe', 'pipe', 'inherit'] });
  let onAnswer: (answer: Answer) => void = () => undefined;
  // Blender prints a greeting before worker.py takes over its output.
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) onAnswer(JSON.parse(line) as Answer);
  });
  child.stdin.on('error', () => undefined);
  const first = await new Promise<Answer>((resolve, reject) => {
    onAnswer = resolve;
    child.once('error', ({ message }) => reject(new Error(`Blender cannot be started: ${message}`)));
    child.once('exit', (...how) => reject(new Error(endOf(...how))));
  });
  if (first.failed !== undefined) throw new Error(first.failed);
  child.once('exit', (code, signal) => {
    // End this worker the same way, so that the service gives its job to another one.
    writeSync(2, `${endOf(code, signal)}\n`);
    if (signal === null) process.exit(code === 0 ? 1 : (code ?? 1));
    process.kill(process.pid, 'SIGKILL');
  });
  return (message, progress) =>
    new Promise((resolve, reject) => {
      onAnswer = (answer) => {
        if (answer.progress !== undefined) progress(answer.progress);
        else if (answer.output === undefined) reject(new Error(answer.error));
        else resolve(answer.output);
      };
      child.stdin.write(`${JSON.stringify(message)}\n`);
    });
}

function endOf(code: number | null, signal: string | null): string {
  return `Blender ${signal === null ? `exited with code ${code}` : `was killed by ${signal}`}`;
}

/** Removes texts and times, so that equal pixels give equal bytes. */
function plainPng(bytes: Buffer): Buffer {
  const kept = [bytes.subarray(0, 8)];
  for (let at = 8; at + 12 <= bytes.length;) {
    const end = at + 12 + bytes.readUInt32BE(at);
    if (/IHDR|PLTE|tRNS|IDAT|IEND/.test(bytes.toString('latin1', at + 4, at + 8)))
      kept.push(bytes.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}

interface Layers {
  width: number;
  height: number;
  /** Values by name of the channel, in rows from the top. */
  channels: Map<string, Float32Array>;
}

/** Left, top, right and bottom in pixels; right and bottom are exclusive. */
type Box = [number, number, number, number];

/** Returns files as base64, and boxes of visible objects by their index. */
function readPasses(
  path: string,
  passes: RenderRequest['passes'],
): { files: Record<string, string>; boxes: Map<number, Box> } {
  const layers = readLayers(path);
  const indexes = channel(layers, /\.(IndexOB|Object Index)\.\w$/);
  const files = {
    depth: () => writeExr(layers, { Y: channel(layers, /\.Depth\.\w$/) }),
    normal: () => {
      const [r, g, b] = [/\.Normal\.X$/, /\.Normal\.Y$/, /\.Normal\.Z$/].map((axis) => channel(layers, axis));
      return writeExr(layers, { R: r, G: g, B: b });
    },
    segmentation: () => writePng(layers, indexes),
  };
  return {
    files: Object.fromEntries(passes.map((pass) => [pass, files[pass]().toString('base64')])),
    boxes: boxesOf(layers, indexes),
  };
}

function channel({ channels }: Layers, name: RegExp): Float32Array {
  const found = [...channels].find(([key]) => name.test(key));
  if (found === undefined) throw new Error(`Blender wrote no layer ${name.source}`);
  return found[1];
}

/** Reads OpenEXR with uncompressed scan lines, as Blender is told to write them. */
function readLayers(path: string): Layers {
  const bytes = readFileSync(path);
  const textAt = (at: number): string => bytes.toString('latin1', at, bytes.indexOf(0, at));
  const header = new Map<string, number>();
  let at = 8;
  while (bytes[at] !== 0) {
    const name = textAt(at);
    at += name.length + 1;
    at += textAt(at).length + 1;
    header.set(name, at + 4);
    at += 4 + bytes.readInt32LE(at);
  }
  const window = header.get('dataWindow') ?? 0;
  const [left = 0, top = 0, right = 0, bottom = 0] = [0, 4, 8, 12].map((by) =>
    bytes.readInt32LE(window + by),
  );
  const [width, height] = [right - left + 1, bottom - top + 1];
  const kinds: { name: string; isHalf: boolean }[] = [];
  for (let place = header.get('channels') ?? 0; bytes[place] !== 0;) {
    const name = textAt(place);
    kinds.push({ name, isHalf: bytes.readInt32LE(place + name.length + 1) === 1 });
    place += name.length + 17;
  }
  if (kinds.some(({ isHalf }) => isHalf)) throw new Error('Blender wrote layers of half floats');
  const channels = new Map(kinds.map(({ name }) => [name, new Float32Array(width * height)]));
  for (let row = 0; row < height; row += 1) {
    const line = Number(bytes.readBigUInt64LE(at + 1 + row * 8));
    const first = (bytes.readInt32LE(line) - top) * width;
    for (const [index, { name }] of kinds.entries())
      for (let x = 0; x < width; x += 1)
        (channels.get(name) ?? [])[first + x] = bytes.readFloatLE(line + 8 + (index * width + x) * 4);
  }
  return { width, height, channels };
}

/** Writes uncompressed OpenEXR, because floats hardly compress. */
function writeExr({ width, height }: Layers, channels: Record<string, Float32Array | undefined>): Buffer {
  const names = Object.keys(channels).toSorted();
  const window = integers(0, 0, width - 1, height - 1);
  const list = names.map((name) => Buffer.concat([text(name), integers(2, 0, 1, 1)]));
  const head = Buffer.concat([
    integers(20_000_630, 2),
    attribute('channels', 'chlist', Buffer.concat([...list, Buffer.alloc(1)])),
    attribute('compression', 'compression', Buffer.alloc(1)),
    attribute('dataWindow', 'box2i', window),
    attribute('displayWindow', 'box2i', window),
    attribute('lineOrder', 'lineOrder', Buffer.alloc(1)),
    attribute('pixelAspectRatio', 'float', floats(new Float32Array([1]))),
    attribute('screenWindowCenter', 'v2f', Buffer.alloc(8)),
    attribute('screenWindowWidth', 'float', floats(new Float32Array([1]))),
    Buffer.alloc(1),
  ]);
  const lines = Array.from({ length: height }, (_, row) => {
    const rows = names.map((name) =>
      floats(channels[name]?.subarray(row * width, (row + 1) * width) ?? new Float32Array()),
    );
    return Buffer.concat([integers(row, names.length * width * 4), ...rows]);
  });
  const lineBytes = 8 + names.length * width * 4;
  const offsets = BigUint64Array.from(lines, (_, row) => BigInt(head.length + height * 8 + row * lineBytes));
  return Buffer.concat([head, Buffer.from(offsets.buffer), ...lines]);
}

function integers(...values: number[]): Buffer {
  return Buffer.from(new Int32Array(values).buffer);
}

function floats(values: Float32Array): Buffer {
  return Buffer.from(new Float32Array(values).buffer);
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`, 'latin1');
}

function attribute(name: string, kind: string, value: Buffer): Buffer {
  return Buffer.concat([text(name), text(kind), integers(value.length), value]);
}

function writePng({ width, height }: Layers, values: Float32Array): Buffer {
  const rows = Buffer.alloc(height * (1 + width * 2));
  for (const [index, value] of values.entries())
    rows.writeUInt16BE(
      Math.round(value),
      Math.floor(index / width) * (1 + width * 2) + 1 + (index % width) * 2,
    );
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 16;
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, data: Buffer): Buffer {
  const [body, frame] = [Buffer.concat([Buffer.from(kind), data]), Buffer.alloc(8)];
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

function boxesOf({ width }: Layers, indexes: Float32Array): Map<number, Box> {
  const boxes = new Map<number, Box>();
  for (const [at, value] of indexes.entries()) {
    const [x, y, index] = [at % width, Math.floor(at / width), Math.round(value)];
    const box = boxes.get(index);
    if (box === undefined) boxes.set(index, [x, y, x + 1, y + 1]);
    else {
      box[0] = Math.min(box[0], x);
      box[2] = Math.max(box[2], x + 1);
      box[3] = y + 1;
    }
  }
  return boxes;
}
