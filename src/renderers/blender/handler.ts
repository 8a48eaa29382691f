/** The worker of `quickDeploy: blender`: owns a Blender process and has it render the input of each job. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageFile } from '../../lib/files/package-file.ts';
import { describeScene } from './describe-scene.ts';
import { findFile } from './find-file.ts';
import { readPasses } from './passes.ts';
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
