/** Runs one side under one load with a separate bench service, and checks its work before it is measured. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceMeasures } from './service-measures.ts';
import type { Load } from './load.ts';
import { runMeasured, type ProcessUse } from './measured-process.ts';
import { Refusal } from './refusal.ts';
import { sceneId, type Side } from './sides.ts';
import { startService } from './start-service.ts';

export interface Result extends ProcessUse {
  service: ServiceMeasures;
}

export interface SideOptions {
  /** Options of Node before the program. */
  nodeArgs?: string[];
  samplesEveryMs?: number;
}

/** Runs a side. Throws `Refusal` if a scene was lost, was submitted twice, or has a wrong file. */
export async function runSide(
  side: Side,
  load: Load,
  picture: Buffer,
  { nodeArgs = [], samplesEveryMs }: SideOptions = {},
): Promise<Result> {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-bench-'));
  const service = await startService(dir, load, picture);
  try {
    const args = side.prepare(dir, service.url, load);
    const use = await runMeasured(side.name, [...nodeArgs, ...args], dir, samplesEveryMs);
    const seen = await service.measures();
    const problem = jobsProblem(seen, load) ?? filesProblem(join(dir, side.picturesDir), load, picture);
    if (problem !== undefined) throw new Refusal(`${side.name} ${problem}`);
    return { ...use, service: seen };
  } finally {
    await service.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

function jobsProblem(service: ServiceMeasures, { scenes, inFlight, bears }: Load): string | undefined {
  const { submissions, collected, mostInFlight, refused, tooMuch } = service;
  if (service.scenes !== scenes) return `submitted ${service.scenes} of ${scenes} scenes`;
  if (submissions !== scenes) return `submitted ${submissions} jobs for ${scenes} scenes`;
  if (collected !== scenes) return `collected ${collected} of ${scenes} jobs`;
  if (mostInFlight > inFlight) return `had ${mostInFlight} jobs in flight, but ${inFlight} are allowed`;
  if (refused > 0) return `sent ${refused} requests that had to be refused`;
  if (tooMuch > 0 && bears === undefined) return `was told ${tooMuch} times of a limit that there is not`;
  return undefined;
}

function filesProblem(dir: string, { scenes }: Load, picture: Buffer): string | undefined {
  const files = new Set(readdirSync(dir));
  for (let i = 0; i < scenes; i++) {
    const file = `${sceneId(i)}.png`;
    if (!files.delete(file)) return `left no ${file}`;
    if (!readFileSync(join(dir, file)).equals(picture)) return `left a ${file} that is not what was rendered`;
  }
  const [stranger] = files;
  return stranger === undefined ? undefined : `left ${stranger}, which belongs to no scene`;
}
