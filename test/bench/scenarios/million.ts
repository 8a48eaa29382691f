/** A million scenes. Compares the time to start, resume and show the status with a hundredth of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillCheckpoint } from '../fill-checkpoint.ts';
import { runToFirstSubmission, type Step } from '../first-submission.ts';
import type { Load } from '../load.ts';
import { runMeasured, timeOf } from '../measured-process.ts';
import { makePicture } from '../picture.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { ours, peer, statusArgs } from '../sides.ts';
import { startService } from '../start-service.ts';
import { median } from '../statistics.ts';
import { target, type Target } from '../target.ts';

export const million: Scenario = {
  name: 'million',
  load: {
    scenes: 1_000_000,
    inFlight: 64,
    pictureBytes: 1_000,
    work: { kind: 'instant' },
    seed: 1,
    settings: [],
  },
  quick: { scenes: 100_000 },
  rounds: 1,
  warmUps: 0,
  run: async (scenario) => {
    const { load } = scenario;
    const rounds: Sizes[] = [];
    for (let round = 1; round <= scenario.rounds; round++) {
      const small = await measureSize({ ...load, scenes: Math.max(100, load.scenes / 100) });
      rounds.push({ small, large: await measureSize(load) });
    }
    return outcomeOf(rounds, load);
  },
};

/** Steps, with the longest time of each target in ms. The peer has only the second one. */
const steps = {
  plan: { name: 'plan', mostMs: 15_000, hasPeer: false },
  first: { name: 'first start to first submission', mostMs: 15_000, hasPeer: true },
  resume: { name: 'resume with 99 % done to first submission', mostMs: 2_000, hasPeer: false },
  status: { name: 'status', mostMs: 400, hasPeer: false },
  // How many pictures are saved before the signal arrives depends on chance, so this step has no target.
  whole: { name: 'first run to its end, with its report', mostMs: Infinity, hasPeer: false },
} as const;

type StepName = keyof typeof steps;
type Measured = Record<StepName | 'peer', Step>;

interface Sizes {
  small: Measured;
  large: Measured;
}

const doneShare = 0.99;
const statusRounds = 5;
const maxBytes = 250e6;
const mostGrowthBytes = 50e6;

async function measureSize(load: Load): Promise<Measured> {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-bench-'));
  const service = await startService(dir, load, await makePicture(load.pictureBytes, load.seed));
  const report = <Value>(name: string, value: Value): Value => {
    console.error(`million, ${load.scenes} scenes, ${name}: ${JSON.stringify(value)}`);
    return value;
  };
  try {
    const run = [...ours.prepare(dir, service.url, load), '--json'];
    const first = report('first start', await runToFirstSubmission(run, dir, service, 'SIGHUP'));
    fillCheckpoint(join(dir, 'out'), service.url, Math.round(load.scenes * doneShare));
    const status = report('status', await measureStatus(dir));
    const resume = report('resume', await runToFirstSubmission(run, dir, service, 'SIGHUP'));
    const peerArgs = peer.prepare(dir, service.url, load);
    const peers = report('peer', await runToFirstSubmission(peerArgs, dir, service, 'SIGKILL'));
    const { plan, submission, whole } = first;
    return { plan, first: submission, whole, resume: resume.submission, status, peer: peers.submission };
  } finally {
    await service.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measureStatus(dir: string): Promise<Step> {
  const { peakBytes } = await runMeasured('status', statusArgs, dir);
  const ms: number[] = [];
  for (let i = 0; i < statusRounds; i++) ms.push(await timeOf(statusArgs, dir));
  return { ms: median(ms), peakBytes };
}

function outcomeOf(rounds: Sizes[], { scenes }: Load): Outcome {
  const names = Object.keys(steps) as StepName[];
  const at = `${scenes.toLocaleString('en-US')} scenes`;
  const targets = [
    ...names
      .filter((name) => Number.isFinite(steps[name].mostMs))
      .map((name) => timeTarget(rounds, name, at)),
    ...names.map((name) => memoryTarget(rounds, name, at)),
    ...names.map((name) => growthTarget(rounds, name)),
  ];
  return { comparisons: [], targets, details: rounds };
}

function timeTarget(rounds: Sizes[], name: StepName, at: string): Target {
  const { mostMs, hasPeer, name: step } = steps[name];
  const seconds = (of: (sizes: Sizes) => Step): number => median(rounds.map((sizes) => of(sizes).ms)) / 1_000;
  return target(
    `${step}, ${at}`,
    { atMost: mostMs / 1_000 },
    seconds(({ large }) => large[name]),
    {
      unit: ' s',
      digits: 2,
      ...(hasPeer && { peer: `${seconds(({ large }) => large.peer).toFixed(2)} s` }),
    },
  );
}

function memoryTarget(rounds: Sizes[], name: StepName, at: string): Target {
  const { hasPeer, name: step } = steps[name];
  const megabytes = (of: (sizes: Sizes) => Step): number =>
    median(rounds.map((sizes) => of(sizes).peakBytes)) / 1e6;
  const peak = megabytes(({ large }) => large[name]);
  return target(`peak memory: ${step}, ${at}`, { atMost: maxBytes / 1e6 }, peak, {
    unit: ' MB',
    digits: 0,
    ...(hasPeer && { peer: `${megabytes(({ large }) => large.peer).toFixed(0)} MB` }),
  });
}

function growthTarget(rounds: Sizes[], name: StepName): Target {
  const grown = (key: StepName | 'peer'): number =>
    median(rounds.map(({ small, large }) => large[key].peakBytes - small[key].peakBytes)) / 1e6;
  const { hasPeer, name: step } = steps[name];
  const bound = { atMost: mostGrowthBytes / 1e6 };
  return target(`growth of it from a hundredth of the scenes: ${step}`, bound, grown(name), {
    unit: ' MB',
    digits: 0,
    ...(hasPeer && { peer: `${grown('peer').toFixed(0)} MB` }),
  });
}
