/** The two sides of the comparison: how each is started on the same list, and where it puts its pictures. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scenario } from './scenario.ts';

export interface Side {
  name: SideName;
  /** Writes what it needs into `dir` and returns the arguments of Node. */
  prepare(dir: string, url: string, scenario: Scenario): string[];
  /** Within `dir`. */
  picturesDir: string;
}

export type SideName = 'ours' | 'peer';

const cli = resolve(import.meta.dirname, '../cli.js');
const peer = fileURLToPath(new URL('./peer.js', import.meta.url));

export const ours: Side = {
  name: 'ours',
  prepare: (dir, url, scenario) => {
    writeManifest(dir, scenario.scenes);
    writeFileSync(join(dir, 'pipeline.yaml'), pipeline(url, scenario));
    return [cli, 'run', 'pipeline.yaml'];
  },
  picturesDir: 'out/images',
};

/** In the order in which they take turns. */
export const sides: readonly Side[] = [
  ours,
  {
    name: 'peer',
    prepare: (dir, url, scenario) => [
      peer,
      url,
      writeManifest(dir, scenario.scenes),
      'out',
      String(scenario.inFlight),
    ],
    picturesDir: 'out',
  },
];

export function sceneId(index: number): string {
  return `scene-${index + 1}`;
}

function writeManifest(dir: string, count: number): string {
  const rows = Array.from({ length: count }, (_, i) => `${sceneId(i)},hills and ${i + 1} trees\n`);
  writeFileSync(join(dir, 'scenes.csv'), `id,scene\n${rows.join('')}`);
  return 'scenes.csv';
}

function pipeline(url: string, { inFlight, settings }: Scenario): string {
  return `manifest: scenes.csv
endpoint:
  baseUrl: ${url}
  id: scene-renderer
  apiKey: \${NIGHTRENDER_API_KEY}
concurrency: ${inFlight}
output:
  dir: out
${settings.map((line) => `${line}\n`).join('')}`;
}
