/** Promise: after a kill at any moment the same command continues; no picture is lost, wrong or paid twice. */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { random, rest, runs, seed } from '../fakes/tier.ts';
import { folderWith, inProcess, jobsOf, newBatch, Program, serve, withKey } from './cli.ts';
import { attemptsThat, expectSameBooks } from './same-books.ts';

/** One kill of a pair strikes after a line of the program, the other after a time. */
const kills = 2 * runs(50, { ms: 3_000 });
/** More scenes than are done by the last kill, so that each kill meets a run at work. */
const sceneCount = 13 * kills;
const small = 'input: {scene: "{{ scene }}", width: 32, height: 32}\n';

it(`goes on after each kill (${kills}) at random moments, with the service's own books agreeing`, async () => {
  const { url, dataDir } = await serve(folderWith({}));
  const cwd = newBatch(url, sceneCount, `${small}concurrency: 8\n`);
  for (let kill = 0; kill < kills; kill += 2) {
    await killAfterLines(cwd, 1 + random(14));
    await killAfterMs(cwd, random(401));
  }
  let last = await inProcess(['run', 'pipeline.yaml'], { cwd, ...withKey });
  // A scene that was in hand at three deaths is set aside until a person asks for it.
  if (attemptsThat("failure_kind = 'quarantined'", cwd) > 0) {
    await inProcess(['retry', 'pipeline.yaml', '--kind', 'quarantined'], { cwd, ...withKey });
    last = await inProcess(['run', 'pipeline.yaml'], { cwd, ...withKey });
  }
  expect(last.code, `seed ${seed}: ${last.stderr}`).toBe(0);
  expectSameBooks(cwd, dataDir, sceneCount);
});

rest.it.skipIf(process.platform !== 'linux')(
  'goes on after its mapped memory was cut away, which no program survives (skipped where that is not Linux)',
  async () => {
    const { url, dataDir } = await serve(folderWith({}));
    const cwd = newBatch(url, 16, small);
    const program = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
    await program.event('scene-saved', 3);
    truncateSync(join(cwd, 'out/checkpoint.sqlite-shm'));
    await program.finish();
    expect(program.child.signalCode, program.stderr).toBe('SIGBUS');
    const { code, stderr } = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
    expect([code, stderr]).toEqual([0, '']);
    expectSameBooks(cwd, dataDir, 16);
    expect(jobsOf(dataDir)).toBe(16);
  },
);

/** The program's own lines are its clock: it dies right after the nth of them. */
async function killAfterLines(cwd: string, lines: number): Promise<void> {
  const program = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  program.child.stdout.on('data', () => {
    if (program.stdout.split('\n').length > lines) program.child.kill('SIGKILL');
  });
  await program.finish();
}

/**
 * It dies this long after its start was said: in the midst of a commit, an fsync or a decoding, which no line tells.
 * The timer says when to kill and nothing else; the test waits for the death itself, never for time to pass.
 */
async function killAfterMs(cwd: string, ms: number): Promise<void> {
  const program = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  let timer: NodeJS.Timeout | undefined;
  program.child.stdout.on('data', () => {
    if (program.stdout.includes('"run-started"'))
      timer ??= setTimeout(() => program.child.kill('SIGKILL'), ms);
  });
  await program.finish();
  clearTimeout(timer);
}
