/** Runs the built rendering worker in a process of its own, on a software adapter where the machine has one. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeRenderer, type RendererDescription } from '../../src/renderers/scene/describe-renderer.ts';
import type { RenderedPicture } from '../../src/renderers/scene/handler.ts';
import { root } from './cli.ts';

export interface Rendered {
  answers: (RenderedPicture[] | { error: string })[];
  lines: string[];
}

const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
/** Where test/scripts/renderer-packages.sh puts the packages. */
export const packagesDir =
  process.env['NIGHTRENDER_RENDERER_DIR'] ?? join(cache, 'nightrender-tests/renderer');
const chromium = '/usr/lib/chromium';

/** Debian's chromium brings a loader of Vulkan and a GPU in software. */
const software: Record<string, string> = existsSync(join(chromium, 'vk_swiftshader_icd.json'))
  ? { LD_LIBRARY_PATH: chromium, VK_ICD_FILENAMES: join(chromium, 'vk_swiftshader_icd.json') }
  : {};

export function rendererEnvironment(dir: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', ...software, NIGHTRENDER_RENDERER_DIR: dir };
}

export function emptyDir(): string {
  return mkdtempSync(join(tmpdir(), 'nightrender-renderer-'));
}

/** `fates` are those of the first GPUs that are opened, in the middle of a picture; the next ones do well. */
export async function render(
  inputs: unknown[],
  dir = packagesDir,
  fates: ('lost' | 'refuses')[] = [],
): Promise<Rendered> {
  const script = join(root, 'test/fixtures/render-process.mjs');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [script, JSON.stringify(inputs), JSON.stringify(fates)],
    {
      env: rendererEnvironment(dir),
      maxBuffer: 2 ** 28,
      timeout: 580_000,
    },
  );
  // Drivers say their own words before it.
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n') + 1)) as Rendered;
}

/** As the console and `serve` ask. */
export function describeGpu(dir: string): Promise<RendererDescription> {
  return describeRenderer(dir, rendererEnvironment(dir));
}

/** Why nothing can be rendered here; undefined where it can. */
export async function noGpuReason(): Promise<string | undefined> {
  const found = await describeGpu(packagesDir);
  return found.kind === 'gpu' ? undefined : found.reason;
}
