/** Promise: if the disk disappears at any moment, no picture is lost, and nothing is paid for twice. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { random, runs, seed } from '../fakes/tier.ts';
import {
  type Finished,
  folderWith,
  jobsOf,
  type Night,
  nightWith,
  pipeline,
  scenes,
  serve,
  type Started,
  withKey,
} from './cli.ts';
import { attemptsThat, expectSameBooks, picturesIn } from './same-books.ts';
import { canMount, RemovableDisk } from './small-disk.ts';

const kills = runs(300, { ms: 3_000, weight: 5 });
/** More scenes than are done by the last kill, so every kill hits a working run. */
const sceneCount = 10 + kills * 10;
const more = 'input: {scene: "{{ scene }}", width: 32, height: 32}\nconcurrency: 8\n';
const oneKillMs = 30_000;
/**
 * Signals that end the run after its disk disappeared. Undefined lets the run end by itself. If the disk
 * stays, only the first is used.
 */
const blows = ['SIGKILL', 'SIGKILL', 'SIGKILL', 'SIGTERM', undefined] as const;

it.skipIf(!canMount)(
  `a run continues after each kill (${kills}) with a disk that comes and goes (skipped if this user may not mount one)`,
  async () => {
    const { url, dataDir } = await serve(folderWith({}));
    const night = nightWith({
      'pipeline.yaml': pipeline(url, more).replace('dir: out', 'dir: out\n  name: "{{ row }}/{{ id }}.png"'),
      'scenes.csv': scenes(sceneCount),
    });
    const disk = new RemovableDisk(night.path('out'), 256);
    const seen = { killed: 0, endedByThemselves: {} as Record<string, number>, refusedWithoutDisk: 0 };
    await strike(night, { lines: 3, blow: 'SIGKILL' });
    while (seen.killed < kills) {
      const at = random(2) === 0 ? { lines: 1 + random(14) } : { ms: random(900) };
      const goes = random(4) > 0 ? { disk, restMs: random(200) } : {};
      const blow = blows[random('disk' in goes ? blows.length : 1)];
      const end = await strike(night, { ...at, ...goes, blow });
      const story = `seed ${seed}, ${JSON.stringify({ at, goes: goes.restMs, blow, seen })}: ${end.stderr}${end.stdout.slice(-500)}`;
      if (end.code === null) seen.killed += 1;
      else seen.endedByThemselves[end.code] = (seen.endedByThemselves[end.code] ?? 0) + 1;
      expect([null, 0, 2, 14, 143], story).toContain(end.code);
      expect(end.stderr, story).not.toMatch(/^ +at /m);
      disk.unmount();
      if (random(3) === 0) {
        // If the run had sent anything, its wrong key would have been rejected.
        const { code, stderr } = await run(night, { env: { NIGHTRENDER_API_KEY: 'nobody' } });
        expect(code, `${story}\n${stderr}`).toBe(2);
        expect(stderr).toContain('out: a batch began here on');
        seen.refusedWithoutDisk += 1;
      }
      expect(picturesIn(night.cwd), story).toEqual([]);
      disk.mount();
    }
    let last = await run(night);
    // A scene that was in progress at three crashes is quarantined until a person retries it.
    if (attemptsThat("failure_kind = 'quarantined'", night.cwd) > 0) {
      await night.retry('--kind', 'quarantined');
      last = await run(night);
    }
    expect(last.code, `seed ${seed}: ${last.stderr}`).toBe(0);
    expectSameBooks(night.cwd, dataDir, sceneCount);
    const unanswered = attemptsThat("state = 'unanswered'", night.cwd);
    process.stdout.write(`${JSON.stringify({ ...seen, sceneCount, jobs: jobsOf(dataDir), unanswered })}\n`);
  },
  60_000 + kills * oneKillMs,
);

interface Strike {
  /** Number of lines of output before the event. Alternatively, `ms` is the time in ms after the start. */
  lines?: number;
  ms?: number;
  /** Disk to unmount first. The run is struck `restMs` ms later. */
  disk?: RemovableDisk;
  restMs?: number;
  /** Signal to send. If undefined, the run ends by itself. */
  blow: 'SIGKILL' | 'SIGTERM' | undefined;
}

/** Strikes the run. The times only decide when to strike. The test waits for the end of the process. */
async function strike(night: Night, { lines, ms, disk, restMs, blow }: Strike): Promise<Finished> {
  const program = night.program('run', 'pipeline.yaml', '--json');
  const ended = program.finish();
  const enough = new Promise<void>((reached) => {
    program.child.stdout.on('data', () => {
      if (program.stdout.split('\n').length > (lines ?? Infinity)) reached();
    });
  });
  await Promise.race([ended, enough, ...(ms === undefined ? [] : [delay(ms)])]);
  disk?.unmount();
  if (restMs !== undefined) await Promise.race([ended, delay(restMs)]);
  if (blow !== undefined) program.child.kill(blow);
  return ended;
}

function run(night: Night, { env } = withKey): Started {
  return night.with({ env }).run('--quiet');
}
