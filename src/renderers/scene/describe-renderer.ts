/** Says what pictures would be rendered by, for people: asked in a process of its own, since drivers may crash. */
import { fork } from 'node:child_process';
import { packageFile } from '../../lib/files/package-file.ts';
import { rendererInstallCommand } from './renderer-folders.ts';

export type RendererDescription =
  | { kind: 'gpu'; adapter: string }
  /** `install` brings the packages where these are what is missing. */
  | { kind: 'painter'; reason: string; install: string | null };

/** What the process that looks for a GPU tells. */
export type ProbeMessage = { adapter: string } | { reason: string; arePeersMissing: boolean };

const probeLimitMs = 30_000;

/** `dir` is where the packages belong; never rejects. */
export async function describeRenderer(dir: string): Promise<RendererDescription> {
  const found = await probe(dir);
  if ('adapter' in found) return { kind: 'gpu', adapter: found.adapter };
  const install = found.arePeersMissing ? rendererInstallCommand(dir) : null;
  return { kind: 'painter', reason: found.reason, install };
}

function probe(dir: string): Promise<ProbeMessage> {
  const child = fork(packageFile('dist/renderers/scene/probe-gpu.js'), {
    env: { ...process.env, NIGHTRENDER_RENDERER_DIR: dir },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    timeout: probeLimitMs,
    killSignal: 'SIGKILL',
  });
  return new Promise((resolve) => {
    const failed = (reason: string): void => resolve({ reason, arePeersMissing: false });
    child.once('message', (message) => {
      resolve(message as ProbeMessage);
      // Drivers keep it alive.
      child.kill('SIGKILL');
    });
    child.once('error', (error) => failed(`the GPU could not be looked for: ${error.message}`));
    child.once('exit', (code, signal) =>
      failed(`the GPU driver ended with ${signal ?? `code ${code}`} as it was looked for`),
    );
  });
}
