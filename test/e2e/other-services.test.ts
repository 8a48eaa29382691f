/**
 * Promise: a run at fal or Replicate is as safe as at a job service. No kill, lost answer or rejected key
 * loses a picture or pays for one unreported.
 */
import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { falKey, startFal, type FalService } from '../fakes/fal-service.ts';
import { answerHonestly, type Meet } from '../fakes/job-server.ts';
import { replicateKey, startReplicate, type ReplicateService } from '../fakes/replicate-service.ts';
import { losing, refusing } from '../fakes/situations.ts';
import { firstTier, random, rest, sampled, seed as draws } from '../fakes/tier.ts';
import { type Finished, linesOf, type Night, nightWith } from './cli.ts';

const sceneCount = 10;

interface Begun {
  service: FalService | ReplicateService;
  night: Night;
}

const services = ['fal', 'replicate'] as const;
/** `queue` is fal as described by fal.yaml, at the stand-in. Its list has another origin than its queue. */
type Service = (typeof services)[number] | 'queue';

/** Cost of a test with two runs. */
const nightCost = { ms: 1_500 };

it.each(sampled(services, nightCost))(
  '%s: continues after a kill -9 in the middle of the run',
  async (name) => {
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
  },
);

it.each(sampled(services, nightCost))(
  '%s: stops if the key is revoked, and continues with a valid one',
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

firstTier.it('fal: pays for nothing twice while results are refused with words', async () => {
  const { service, night } = await nightAt('fal', {
    meet: refusing('result', 503, { detail: 'busy' }, undefined, 60),
  });
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(sceneCount);
  await expectPictures(night);
});

firstTier.it(
  'fal: sends a submission again if its answer was lost and the list is elsewhere, and declares what may have been paid twice',
  async () => {
    const { service, night } = await nightAt('fal', { meet: losing('run', 3) });
    await night.run().exits(0);
    expect(service.inputs).toHaveLength(sceneCount + 3);
    expect(await night.state()).toMatchObject({ summary: { attempts: { unanswered: 3 } } });
    await expectPictures(night);
  },
);

it.each(sampled(['queue', 'replicate'] as const, nightCost))(
  '%s: finds submissions whose answer was lost, and pays for nothing twice',
  async (name) => {
    const { service, night } = await nightAt(name, { meet: losing('run', 3) });
    await night.run().exits(0);
    expect(service.inputs).toHaveLength(sceneCount);
    const attempts = { saved: sceneCount, unanswered: 0 };
    expect(await night.state()).toMatchObject({ summary: { attempts } });
    await expectPictures(night);
  },
);

firstTier.it('queue: renders all scenes after a kill if the list refuses the key', async () => {
  let kill = (): void => undefined;
  const refuse = refusing('list', 403, { detail: 'not for this key' });
  const { service, night } = await nightAt('queue', {
    meet: (asked) => (asked.operation === 'run' ? kill() : refuse(asked)),
  });
  night.write(
    'pipeline.yaml',
    pipelineOf('queue', service.url).replace('refused: 1s', 'refused: 1s, unreachable: 5s'),
  );
  const program = night.program('run', 'pipeline.yaml', '--json');
  kill = () => program.child.kill('SIGKILL');
  await program.finish();
  service.meet = refuse;
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(sceneCount);
  const attempts = { saved: sceneCount, unanswered: 1 };
  expect(await night.state()).toMatchObject({ summary: { attempts } });
  await expectPictures(night);
});

firstTier.it(
  'queue: finds jobs in the list that the queue has dropped since the program was killed',
  async () => {
    const { service, night } = await nightAt('queue', { isHeld: () => true });
    const program = night.program('run', 'pipeline.yaml', '--json');
    await expect.poll(() => countOf(program, 'scene-submitted')).toBe(sceneCount);
    program.child.kill('SIGKILL');
    await program.finish();
    for (const job of service.jobs.all) Object.assign(job, { completesAt: Date.now() - 1, forgottenAt: 0 });
    await expectFound(service, night);
  },
);

it.each(sampled([1, 2, 3, 4], { ms: nightCost.ms * 2 }))(
  'queue: a night with kills and lost answers pays for each scene once (%s)',
  async () => {
    let untilKill = 0;
    let kill = (): void => undefined;
    let untaken = 0;
    // Every other answer is lost. A kill comes before or after a submission is accepted.
    const meet: Meet = (asked) => {
      if (asked.operation !== 'run') return answerHonestly(asked);
      untilKill -= 1;
      if (untilKill !== 0) return random(2) === 0 ? losing('run')(asked) : answerHonestly(asked);
      if (random(2) === 0) asked.take();
      else untaken += 1;
      kill();
    };
    const { service, night } = await nightAt('queue', { meet });
    // With a third kill, a scene that was being submitted each time would be quarantined.
    for (const _ of [1, 2]) {
      const program = night.program('run', 'pipeline.yaml', '--json');
      untilKill = 1 + random(3);
      kill = () => program.child.kill('SIGKILL');
      await program.finish();
    }
    await night.run().exits(0);
    const numbers = service.inputs.map((input) => Number(input['seed'])).toSorted((a, b) => a - b);
    expect(numbers, `seed ${draws}`).toEqual(Array.from({ length: sceneCount }, (_, n) => n));
    // Submissions that were recorded but never sent count as unanswered too.
    const { summary } = (await night.state()) as { summary: { attempts: Record<string, number> } };
    expect(summary.attempts, `seed ${draws}`).toMatchObject({ saved: sceneCount, failed: 0, expired: 0 });
    expect(summary.attempts['unanswered'], `seed ${draws}`).toBeGreaterThanOrEqual(untaken);
    await expectPictures(night);
  },
);

rest.it(
  'replicate: finds a submission that was sent when the program died, and waits as long as the list may lag',
  async () => {
    const { service, night } = await nightThatDied();
    await expectFound(service, night);
  },
);

/** Kills the program after the service has accepted a job and before the answer arrives. */
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

const keys = { fal: falKey, queue: falKey, replicate: replicateKey };
const ids = { fal: 'fal-ai/flux/dev', queue: 'fal-ai/flux/dev', replicate: 'black-forest-labs/flux-schnell' };

/** Creates a batch in which each scene has its own colour. */
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
  const service = await (name === 'replicate'
    ? startReplicate({ meet, plan: (input) => ({ ...plan(input), output: [plan(input).picture] }) })
    : startFal({ meet, plan: (input) => ({ ...plan(input), pictures: [plan(input).picture] }) }));
  const description = readFileSync('src/runner/config/services/fal.yaml', 'utf8')
    .replaceAll('https://queue.fal.run', service.url)
    .replaceAll('https://api.fal.ai', service.url.replace('127.0.0.1', 'localhost'));
  const night = nightWith({
    'queue.yaml': description,
    'pipeline.yaml': pipelineOf(name, service.url),
    'scenes.csv': `id,n\n${Array.from({ length: sceneCount }, (_, n) => `s${n},${n}\n`).join('')}`,
  });
  return { service, night: night.with({ env: { NIGHTRENDER_API_KEY: keys[name] } }) };
}

function pipelineOf(name: Service, url: string): string {
  return `manifest: scenes.csv
endpoint: {speaks: ${name === 'queue' ? 'queue.yaml' : name}, baseUrl: "${url}", id: ${ids[name]}, apiKey: "\${NIGHTRENDER_API_KEY}"}
input: {prompt: "hill {{ n }}", seed: "{{ n }}"}
columns: {n: number}
concurrency: ${sceneCount}
output: {dir: out}
polling: {shortest: 50ms}
halt: {refused: 1s}
retry: {firstWait: 10ms, longestWait: 100ms}
${name === 'queue' ? 'timeouts: {queue: 3s, execution: 3s}' : ''}
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
