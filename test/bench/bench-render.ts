/** `npm run bench:render` measures how many pictures a second the scene renderer draws on one core. */
import { describeMachine } from './machine.ts';
import { median } from './statistics.ts';
import { handler } from '../../src/renderers/scene/handler.ts';

/** One scene of each kind that takes time: few things, many things, grass, far hills. */
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

/** Measures of pictures that were drawn one after another. */
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
