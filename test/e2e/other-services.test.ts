/** Promise: a night at fal or Replicate is as safe as one at a job service: no kill, lost answer or refused key loses a picture, or pays for one unsaid. */
import sharp from 'sharp';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { falKey, startFal, type FalService } from '../fakes/fal-service.ts';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { answerHonestly, type Meet } from '../fakes/job-server.ts';
import { replicateKey, startReplicate, type ReplicateService } from '../fakes/replicate-service.ts';
import { losing, refusing } from '../fakes/situations.ts';
import { rest, sampled } from '../fakes/tier.ts';
import { type Finished, linesOf, type Night, nightWith } from './cli.ts';

const sceneCount = 10;

interface Begun {
  service: FalService | ReplicateService;
  night: Night;
}

const services = ['fal', 'replicate'] as const;
type Service = (typeof services)[number];

/** Of a night in two runs. */
const nightCost = { ms: 1_500 };

it.each(sampled(services, nightCost))('%s: goes on after a kill -9 in the midst of it', async (name) => {
  const { service, night } = await nightAt(name, { isHeld: (n) => n >= sceneCount / 2 });
  const program = night.program('run', 'pipeline.yaml', '--json');
  await expect.poll(() => countOf(program, 'scene-submitted')).toBe(sceneCount);
  await expect.poll(() => countOf(program, 'scene-saved')).toBe(sceneCount / 2);
  program.child.kill('SIGKILL');
  await program.finish();
  for (const job of service.jobs.all) job.completesAt = Math.min(job.completesAt, Date.now());
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(sceneCount);
  await expectPictures(night);
});

it.each(sampled(services, nightCost))(
  '%s: stops where the key is revoked, and goes on with a good one',
  async (name) => {
    const { service, night } = await nightAt(name, {
      meet: (asked) => {
        answerHonestly(asked);
        if (service.jobs.all.length === sceneCount / 2) service.key = 'another';
      },
    });
    const first = await night.run().exits(12);
    expect(first.stdout + first.stderr).toContain('does not accept the key');
    expect(first.stdout + first.stderr).not.toContain(keys[name]);
    service.meet = answerHonestly;
    service.key = keys[name];
    await night.run().exits(0);
    expect(service.inputs).toHaveLength(sceneCount);
    await expectPictures(night);
  },
);

it('fal: pays for nothing twice while results are refused with words', async () => {
  const { service, night } = await nightAt('fal', {
    meet: refusing('result', 503, { detail: 'busy' }, undefined, 60),
  });
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(sceneCount);
  await expectPictures(night);
});

it('fal: sends again what had its answer lost, and declares what may have been paid twice', async () => {
  const { service, night } = await nightAt('fal', { meet: losing('run', 3) });
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(sceneCount + 3);
  expect(await night.state()).toMatchObject({ summary: { attempts: { unanswered: 3 } } });
  await expectPictures(night);
});

it('replicate: finds what had its answer lost, and pays for nothing twice', async () => {
  const { service, night } = await nightAt('replicate', { meet: losing('run', 3) });
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(sceneCount);
  await expectPictures(night);
});

it('replicate: finds what was sent when the program died, half a minute later', async () => {
  const { service, night } = await nightThatDied();
  editCheckpoint(night.path('out'), 'UPDATE attempts SET intended_at = intended_at - 31000');
  await expectFound(service, night);
});

rest.it(
  'replicate: finds what was sent when the program died, and waits as long as the list may lag',
  async () => {
    const { service, night } = await nightThatDied();
    await expectFound(service, night);
  },
);

/** It is killed right after the service has taken a job, and before it hears of that. */
async function nightThatDied(): Promise<Begun> {
  const { service, night } = await nightAt('replicate', {
    meet: (asked) => {
      if (asked.operation !== 'run' || service.jobs.all.length !== sceneCount / 2)
        return answerHonestly(asked);
      asked.take();
      program.child.kill('SIGKILL');
    },
  });
  const program = night.program('run', 'pipeline.yaml', '--json');
  await program.finish();
  service.meet = answerHonestly;
  return { service, night };
}

async function expectFound(service: Begun['service'], night: Night): Promise<void> {
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(sceneCount);
  await expectPictures(night);
}

const keys = { fal: falKey, replicate: replicateKey };
const ids = { fal: 'fal-ai/flux/dev', replicate: 'black-forest-labs/flux-schnell' };

/** Each scene has a colour of its own. */
async function nightAt(
  name: Service,
  { isHeld = () => false, meet = answerHonestly }: { isHeld?: (n: number) => boolean; meet?: Meet },
): Promise<Begun> {
  const pictures = await Promise.all(
    Array.from({ length: sceneCount }, async (_, n) => {
      const create = { width: 32, height: 24, channels: 3, background: colourOf(n) } as const;
      return `data:image/png;base64,${(await sharp({ create }).png().toBuffer()).toString('base64')}`;
    }),
  );
  const plan = ({ seed }: JsonObject) => ({
    executionMs: isHeld(Number(seed)) ? Infinity : 0,
    picture: pictures[Number(seed)] ?? '',
  });
  const service = await (name === 'fal'
    ? startFal({ meet, plan: (input) => ({ ...plan(input), pictures: [plan(input).picture] }) })
    : startReplicate({ meet, plan: (input) => ({ ...plan(input), output: [plan(input).picture] }) }));
  const night = nightWith({
    'pipeline.yaml': pipelineOf(name, service.url),
    'scenes.csv': `id,n\n${Array.from({ length: sceneCount }, (_, n) => `s${n},${n}\n`).join('')}`,
  });
  return { service, night: night.with({ env: { NIGHTRENDER_API_KEY: keys[name] } }) };
}

function pipelineOf(name: Service, url: string): string {
  return `manifest: scenes.csv
endpoint: {speaks: ${name}, baseUrl: "${url}", id: ${ids[name]}, apiKey: "\${NIGHTRENDER_API_KEY}"}
input: {prompt: "hill {{ n }}", seed: "{{ n }}"}
columns: {n: number}
concurrency: ${sceneCount}
output: {dir: out}
polling: {shortest: 50ms}
halt: {refused: 1s}
retry: {firstWait: 10ms, longestWait: 100ms}
`;
}

function colourOf(n: number): { r: number; g: number; b: number } {
  return { r: 10 * n, g: 255 - 10 * n, b: 40 };
}

async function expectPictures(night: Night): Promise<void> {
  const seen = await Promise.all(
    Array.from({ length: sceneCount }, async (_, n) => {
      const [r, g, b] = await sharp(night.path(`out/images/s${n}.png`))
        .raw()
        .toBuffer();
      return { r, g, b };
    }),
  );
  expect(seen).toEqual(Array.from({ length: sceneCount }, (_, n) => colourOf(n)));
}

function countOf(program: Pick<Finished, 'stdout'>, type: string): number {
  const whole = program.stdout.slice(0, program.stdout.lastIndexOf('\n') + 1);
  return linesOf({ stdout: whole }).filter((line) => line['type'] === type).length;
}
