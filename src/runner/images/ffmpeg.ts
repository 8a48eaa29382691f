/** Clips through ffmpeg, if it is installed: decodes every frame (`check.decode`), and makes posters of first frames. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { PlanRefused } from '../core/batch-plan.ts';
import { clipEndings, type ClipFormat, clipFormats, isSound } from '../core/clip.ts';
import { FatalFailure } from '../core/failure.ts';
import { type Picture, thumbnailSide } from '../core/picture.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import type { ImageStore } from '../pipeline/ports.ts';
import { triedThumbnail } from './other-formats.ts';

/** ffmpeg itself uses several processors. */
const decodings = pLimit(2);

/** Throws `PlanRefused` if ffmpeg cannot be started. */
export async function assertDecoder(): Promise<void> {
  const { code } = await ffmpeg(['-version'], 60_000);
  if (code === 0) return;
  throw new PlanRefused(
    '`check.decode` needs `ffmpeg`, which cannot be started here: install it, or remove the setting. Nothing was sent',
  );
}

/** Returns the store with a check that also decodes clips. Its `prepare` throws `PlanRefused` without ffmpeg. */
export function withDecoding<Store extends Pick<ImageStore, 'check'> & { prepare(): Promise<void> }>(
  images: Store,
): Store {
  return {
    ...images,
    prepare: async () => {
      await assertDecoder();
      await images.prepare();
    },
    check: async (unchecked, provenance) => {
      const checked = await images.check(unchecked, provenance);
      if ('kind' in checked) return checked;
      const format = formatOfClip(checked);
      if (format === undefined) return checked;
      const problem = await decodings(() => problemOf(checked, format));
      if (problem === undefined) return checked;
      const what = checked.named === undefined ? 'the clip' : `the file ${checked.named.label}`;
      return { kind: 'bad-clip', text: `${what} cannot be used: ${problem}`, digest: checked.sha256 };
    },
  };
}

function formatOfClip({ format, named }: Picture): ClipFormat | undefined {
  return clipFormats.find((each) => (named ? clipEndings[each] === `.${named.kind}` : each === format));
}

function problemOf(clip: Picture, format: ClipFormat): Promise<string | undefined> {
  const { received, content } = clip;
  const bytes = received?.length ?? content.length;
  return withFile(received?.path ?? content, format, (path) => decode(path, format, bytes));
}

/** Runs `work` with the path of a file: `source`, or a temporary file of this content. Throws `FatalFailure` if the disk fails. */
async function withFile<T>(
  source: string | Uint8Array,
  format: ClipFormat,
  work: (path: string) => Promise<T>,
): Promise<T> {
  if (typeof source === 'string') return work(source);
  const folder = await withDiskFailure(tmpdir(), () => mkdtemp(join(tmpdir(), 'nightrender-clip-')));
  try {
    const path = join(folder, `clip${clipEndings[format]}`);
    await withDiskFailure(path, () => writeFile(path, source));
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns why the clip cannot be decoded. Throws `FatalFailure` if ffmpeg says nothing about the clip. */
async function decode(path: string, format: ClipFormat, bytes: number): Promise<string | undefined> {
  // Decoding a megabyte of video takes some seconds at most.
  const limitMs = 60_000 + Math.ceil(bytes / 1e6) * 15_000;
  // ffmpeg takes the end of a WAV of unknown size for an error.
  const strict = format === 'WAV' ? [] : ['-xerror'];
  const decoded = ['-map', '0:v?', '-map', '0:a?', '-f', 'null', '-'];
  const { code, said, isLate } = await ffmpeg([...strict, ...inputOf(path, format), ...decoded], limitMs);
  if (code === 0) return undefined;
  if (isLate) return `ffmpeg did not decode it within ${Math.round(limitMs / 60_000)} minutes`;
  // 255 is the answer to a signal.
  if (code !== null && code < 255) return `ffmpeg cannot decode it (${said})`;
  const text = `ffmpeg ended without an answer (${said}), so the clip waits for the next run`;
  throw new FatalFailure({ kind: 'output-unwritable', text });
}

export interface ClipToShow {
  /** Absolute path on this machine, or the content. */
  source: string | Uint8Array;
  format: ClipFormat;
  /** In pixels. */
  width: number;
  height: number;
}

/** Time after which a poster is given up. The first frame takes a tenth of a second. */
const posterMs = 10_000;

/** One at a time, because ffmpeg takes a processor from the jobs. */
const posters = pLimit(1);

/** Further posters are not tried after so many timeouts, so that a slow machine loses no time that jobs need. */
const maxTimeouts = 3;

let timeouts = 0;
let hasNoFfmpeg = false;

/** Returns the first frame as a JPEG thumbnail. Undefined for sound, without ffmpeg, and if it cannot be decoded in time. */
export async function posterOf(clip: ClipToShow): Promise<Uint8Array | undefined> {
  const { source, format, width, height } = clip;
  return await posters(async () => {
    if (!mayHavePoster(format)) return undefined;
    if (format !== 'GIF') {
      const frame = withFile(source, format, (path) => firstFrame(path, format));
      return await frame.catch(noneIfDiskFails);
    }
    return await triedThumbnail((sharp) => sharp(source, { pages: 1, limitInputPixels: width * height }));
  });
}

/** A missing poster must not end a night. Throws any other error again. */
function noneIfDiskFails(error: unknown): undefined {
  if (!(error instanceof FatalFailure)) throw error;
}

/** True unless it is known that no poster can be made on this machine. */
export function mayHavePoster(format: ClipFormat): boolean {
  if (isSound(format)) return false;
  return format === 'GIF' || (!hasNoFfmpeg && timeouts < maxTimeouts);
}

async function firstFrame(path: string, format: ClipFormat): Promise<Uint8Array | undefined> {
  const scale = `scale=${thumbnailSide}:${thumbnailSide}:force_original_aspect_ratio=decrease`;
  const frame = ['-map', '0:v:0', '-frames:v', '1', '-vf', scale, '-pix_fmt', 'yuvj420p', '-q:v', '4'];
  const jpeg = ['-c:v', 'mjpeg', '-f', 'image2pipe', 'pipe:1'];
  const made = await ffmpeg(['-threads', '1', ...inputOf(path, format), ...frame, ...jpeg], posterMs);
  hasNoFfmpeg ||= made.isMissing;
  timeouts += made.isLate ? 1 : 0;
  return made.code === 0 && made.output.length > 0 ? made.output : undefined;
}

/** Demuxers of ffmpeg by format. ffmpeg does not choose one itself, because playlists can name other files. */
const demuxers: Record<ClipFormat, string> = {
  MP4: 'mov',
  MOV: 'mov',
  WebM: 'matroska',
  GIF: 'gif',
  WAV: 'wav',
  MP3: 'mp3',
  FLAC: 'flac',
  Ogg: 'ogg',
};

function inputOf(path: string, format: ClipFormat): string[] {
  return ['-protocol_whitelist', 'file', '-f', demuxers[format], '-i', `file:${path}`];
}

interface Ended {
  /** Null if ffmpeg was killed or could not be started. */
  code: number | null;
  /** First words of its errors. */
  said: string;
  output: Buffer;
  isLate: boolean;
  /** True if there is no ffmpeg on this machine. */
  isMissing: boolean;
}

/** Maximum size of the output in bytes. A poster has some 20 kB. */
const maxOutputBytes = 1_000_000;

/** Runs ffmpeg in its own process group, so that Ctrl-C does not end it early. It is killed if this process ends. */
function ffmpeg(args: string[], limitMs: number): Promise<Ended> {
  return new Promise<Ended>((resolve) => {
    const child = spawn('ffmpeg', ['-nostdin', '-v', 'error', ...args], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    const output: Buffer[] = [];
    let [said, bytes, isLate] = ['', 0, false];
    const kill = (): void => {
      child.kill('SIGKILL');
    };
    const timer = setTimeout(() => {
      isLate = true;
      kill();
    }, limitMs);
    process.once('exit', kill);
    const done = (code: number | null, reason: string, isMissing = false): void => {
      clearTimeout(timer);
      process.removeListener('exit', kill);
      resolve({ code, said: wordsOf(said) || reason, output: Buffer.concat(output), isLate, isMissing });
    };
    child.stdout.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > maxOutputBytes) kill();
      else output.push(piece);
    });
    child.stderr.on('data', (piece: Buffer) => {
      if (said.length < 4_000) said += piece.toString('latin1');
    });
    child.once('error', (error: NodeJS.ErrnoException) => done(null, error.message, error.code === 'ENOENT'));
    child.once('close', (code, signal) => done(code, signal ?? `exit code ${code ?? 0}`));
  });
}

/** Returns the first line without the name and address of the decoder, such as `[h264 @ 0x55d0c8]`. */
function wordsOf(said: string): string {
  const [line = ''] = said.trim().split('\n', 1);
  return line.replace(/^\[[^\]]*\]\s*/, '').slice(0, 200);
}
