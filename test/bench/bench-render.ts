/** `npm run bench:render`: pictures a second of the scene renderer, on one core. */
import { describeMachine } from './machine.ts';
import { median } from './statistics.ts';
import { handler } from '../../src/renderers/scene/handler.ts';

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

const quiet = { progress: () => undefined };

/** Of pictures made one after another. */
interface Measured {
  perSecond: number;
  cpuSeconds: number;
  pictures: number;
}

async function measure(size: number): Promise<Measured> {
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

function make(scene: string, size: number): Promise<unknown> {
  return handler({ id: 'bench', input: { scene, seed: 1, width: size, height: size } }, quiet);
}

const { cpu, cores, node } = describeMachine();
console.log(`npm run bench:render\n${cpu}, ${cores} cores, ${node}`);
console.log('medians\n');
console.log('| size | pictures a second | CPU seconds a picture | pictures |');
console.log('| ---: | ---: | ---: | ---: |');
for (const size of sizes) {
  const { perSecond, cpuSeconds, pictures } = await measure(size);
  console.log(
    `| ${[`${size}x${size}`, perSecond.toFixed(2), cpuSeconds.toFixed(2), pictures].join(' | ')} |`,
  );
}
