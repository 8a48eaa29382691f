/** The two sides of the comparison: how each is started on the same list, and where it puts its pictures. */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/lib/files/package-file.ts';
import type { Load } from './load.ts';

export interface Side {
  name: SideName;
  /** Writes the files that the side needs into `dir`, and returns the arguments of Node. */
  prepare(dir: string, url: string, load: Load): string[];
  /** Path within `dir`. */
  picturesDir: string;
}

export type SideName = 'ours' | 'peer';

const cli = packageFile('dist/nightrender.cjs');
const peerProgram = fileURLToPath(new URL('./peer.js', import.meta.url));

export const ours: Side = {
  name: 'ours',
  prepare: (dir, url, load) => {
    writeManifest(dir, load.scenes);
    writeFileSync(join(dir, 'pipeline.yaml'), pipeline(url, load));
    return [cli, 'run', 'pipeline.yaml'];
  },
  picturesDir: 'out/images',
};

/** Arguments for `status` of our side in a prepared folder. */
export const statusArgs = [cli, 'status', 'pipeline.yaml'];

export const peer: Side = {
  name: 'peer',
  prepare: (dir, url, { scenes, inFlight, isPeerCareful = false }) => [
    peerProgram,
    url,
    writeManifest(dir, scenes),
    'out',
    String(inFlight),
    ...(isPeerCareful ? ['careful'] : []),
  ],
  picturesDir: 'out',
};

export function sceneId(index: number): string {
  return `scene-${index + 1}`;
}

/** Writes the list in pieces, because a million rows need not be in memory at once. */
function writeManifest(dir: string, count: number): string {
  const file = openSync(join(dir, 'scenes.csv'), 'w');
  writeSync(file, 'id,scene\n');
  for (let first = 0; first < count; first += rowsAtOnce) {
    const rows = Array.from({ length: Math.min(rowsAtOnce, count - first) }, (_, i) => row(first + i));
    writeSync(file, rows.join(''));
  }
  closeSync(file);
  return 'scenes.csv';
}

const rowsAtOnce = 10_000;

function row(index: number): string {
  return `${sceneId(index)},hills and ${index + 1} trees\n`;
}

function pipeline(url: string, { inFlight, settings }: Load): string {
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
