/** `npm run bench:render`: pictures a second of the rendering worker, and of the painter in the same run. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describeMachine } from './machine.ts';

interface Picture {
  renderer: 'gpu' | 'painter';
  adapter: string | null;
  fallback_reason?: string;
}

interface Handler {
  handler(
    job: { id: string; input: Record<string, unknown> },
    context: Record<'log' | 'progress', () => void>,
  ): Promise<Picture[]>;
}

interface Painter {
  paint(request: { text: string; seed: number; width: number; height: number }): Promise<Buffer>;
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
const leastMs = 4000;

process.env['NIGHTRENDER_RENDERER_DIR'] ??= join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'nightrender-tests/renderer',
);
// The build: this file is compiled into dist/bench.
const dist = new URL('../', import.meta.url);
const { handler } = (await import(new URL('renderer/handler.js', dist).href)) as Handler;
const { paint } = (await import(new URL('painter/paint.js', dist).href)) as Painter;
const quiet = { log: () => undefined, progress: () => undefined };

async function render(scene: string, size: number, samples: number): Promise<Picture | undefined> {
  const input = { scene, seed: 1, width: size, height: size, samples };
  return (await handler({ id: 'bench', input }, quiet))[0];
}

/** Rounds over all scenes; the first, in which shaders are made, does not count. */
async function rateOf(make: (scene: string) => Promise<unknown>): Promise<string> {
  for (const scene of scenes) await make(scene);
  const startedAt = performance.now();
  let made = 0;
  while (performance.now() - startedAt < leastMs) {
    for (const scene of scenes) await make(scene);
    made += scenes.length;
  }
  return ((made * 1000) / (performance.now() - startedAt)).toFixed(2);
}

const first = await render('a ball', 64, 1);
const { cpu, cores, node } = describeMachine();
console.log(`npm run bench:render\n${cpu}, ${cores} cores, ${node}`);
console.log(`adapter: ${first?.adapter ?? `none: ${first?.fallback_reason ?? 'unknown'}`}\n`);
console.log('| pictures a second | samples | 512x512 | 1024x1024 |\n| --- | ---: | ---: | ---: |');
const rows: [string, string, (scene: string, size: number) => Promise<unknown>][] = [
  ['painter', '–', (text, size) => paint({ text, seed: 1, width: size, height: size })],
  ...(first?.renderer === 'gpu'
    ? [1, 4, 16].map((samples): [string, string, (scene: string, size: number) => Promise<unknown>] => [
        'GPU',
        String(samples),
        (scene, size) => render(scene, size, samples),
      ])
    : []),
];
for (const [name, samples, make] of rows) {
  const rates: string[] = [];
  for (const size of sizes) rates.push(await rateOf((scene) => make(scene, size)));
  console.log(`| ${[name, samples, ...rates].join(' | ')} |`);
}
// Drivers would keep the process alive.
process.exit(0);
