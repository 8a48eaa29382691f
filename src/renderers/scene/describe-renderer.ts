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

/** With the environment of the worker; `dir` is where the packages belong. Never rejects. */
export async function describeRenderer(
  dir: string,
  environment: Readonly<Record<string, string>>,
): Promise<RendererDescription> {
  const found = await probe({ ...environment, NIGHTRENDER_RENDERER_DIR: dir });
  if ('adapter' in found) return { kind: 'gpu', adapter: found.adapter };
  const install = found.arePeersMissing ? rendererInstallCommand(dir) : null;
  return { kind: 'painter', reason: found.reason, install };
}

function probe(env: Record<string, string>): Promise<ProbeMessage> {
  const child = fork(packageFile('dist/renderers/scene/probe-gpu.js'), {
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    timeout: probeLimitMs,
    killSignal: 'SIGKILL',
  });
  let said = '';
  let found: ProbeMessage | undefined;
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)));
  return new Promise((resolve) => {
    const failed = (reason: string): void => resolve({ reason, arePeersMissing: false });
    child.once('message', (message) => {
      found = message as ProbeMessage;
      // Drivers keep it alive.
      child.kill('SIGKILL');
    });
    child.once('error', (error) => failed(`the GPU could not be looked for: ${error.message}`));
    child.once('close', (code, signal) =>
      found === undefined
        ? failed(`the GPU driver ended with ${signal ?? `code ${code}`} as it was looked for`)
        : resolve(withRefusal(found, said)),
    );
  });
}

/** WebGPU says what a driver lacks only on its error output: "Warning: Vulkan … required." */
function withRefusal(found: ProbeMessage, said: string): ProbeMessage {
  const lacking = /^Warning: (?:Vulkan )?(.{1,100}) required\.$/m.exec(said)?.[1];
  if ('adapter' in found || found.arePeersMissing || lacking === undefined) return found;
  const reason = `${found.reason}: it refuses the driver of this machine, which lacks ${lacking}`;
  return { ...found, reason: `${reason} (Mesa's lavapipe, a processor that plays GPU, is such a driver)` };
}
