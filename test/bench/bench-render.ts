/** `npm run bench:render`: pictures a second of the rendering worker, and of the painter in the same run. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describeMachine } from './machine.ts';
import { median } from './statistics.ts';
import { paint } from '../../src/renderers/painter/paint.ts';
import { handler } from '../../src/renderers/scene/handler.ts';

interface Picture {
  renderer: 'gpu' | 'painter';
  adapter: string | null;
  fallback_reason?: string;
}

/** Of every kind that costs: few things, many, grass, far hills. */
const scenes = [
  'a red ball on a blue table',
  'a house with a red roof beside two trees',
  'a white robot in front of a blue car',
  'three green cubes and a gold sphere',
  'a sailboat on the sea at sunset',
];
const sizes = [512, 1024];
const warmUpSize = 64;
const minMs = 4000;

process.env['NIGHTRENDER_RENDERER_DIR'] ??= join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'nightrender-tests/renderer',
);
const quiet = { log: () => undefined, progress: () => undefined };

async function render(scene: string, size: number, samples: number): Promise<Picture | undefined> {
  const input = { scene, seed: 1, width: size, height: size, samples };
  return (await handler({ id: 'bench', input }, quiet))[0];
}

interface Row {
  name: string;
  samples: number | null;
  make(scene: string, size: number): Promise<unknown>;
}

/** Of pictures made one after another; a software adapter's work counts as the process's own. */
interface Measured {
  perSecond: number;
  cpuSeconds: number;
  pictures: number;
}

/** Shaders are made before: of small pictures, since they are the same for all sizes and slow to render in software. */
async function measure({ make }: Row, size: number): Promise<Measured> {
  for (const scene of scenes) await make(scene, warmUpSize);
  const [times, cpuTimes]: [number[], number[]] = [[], []];
  const startedAt = performance.now();
  while (performance.now() - startedAt < minMs) {
    for (const scene of scenes) {
      const [at, cpu] = [performance.now(), process.cpuUsage()];
      await make(scene, size);
      const { user, system } = process.cpuUsage(cpu);
      times.push((performance.now() - at) / 1000);
      cpuTimes.push((user + system) / 1e6);
    }
  }
  return { perSecond: 1 / median(times), cpuSeconds: median(cpuTimes), pictures: times.length };
}

function rowsFor(renderer: Picture['renderer'] | undefined): Row[] {
  const painter: Row = {
    name: 'painter',
    samples: null,
    make: (text, size) => paint({ text, seed: 1, width: size, height: size }),
  };
  const ofGpu = [4, 16].map((samples): Row => ({
    name: 'GPU',
    samples,
    make: (scene, size) => render(scene, size, samples),
  }));
  return renderer === 'gpu' ? [painter, ...ofGpu] : [painter];
}

const first = await render('a ball', warmUpSize, 1);
const { cpu, cores, node } = describeMachine();
console.log(`npm run bench:render\n${cpu}, ${cores} cores, ${node}`);
console.log(`adapter: ${first?.adapter ?? `none: ${first?.fallback_reason ?? 'unknown'}`}`);
console.log('medians; a software adapter takes some minutes\n');
console.log('| renderer | samples | size | pictures a second | CPU seconds a picture | pictures |');
console.log('| --- | ---: | ---: | ---: | ---: | ---: |');
for (const row of rowsFor(first?.renderer)) {
  for (const size of sizes) {
    const { perSecond, cpuSeconds, pictures } = await measure(row, size);
    const cells = [
      row.name,
      row.samples ?? '–',
      `${size}x${size}`,
      perSecond.toFixed(2),
      cpuSeconds.toFixed(2),
    ];
    console.log(`| ${[...cells, pictures].join(' | ')} |`);
  }
}
// Drivers would keep the process alive.
process.exit(0);
