/** Promise: a program that is killed at any moment goes on with the same command; no picture is lost, wrong or paid twice. */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isWhole, random, seed } from '../fakes/tier.ts';
import { folderWith, jobsOf, newBatch, nightrender, Program, serve, withKey } from './cli.ts';
import { attemptsThat, expectSameBooks } from './same-books.ts';

/** More than are done by the last of the kills, so that each meets a run at work. */
const sceneCount = isWhole ? 240 : 52;
const kills = isWhole ? 20 : 4;

it(`goes on after ${kills} kills at random moments, with the service's own books agreeing`, async () => {
  const { url, dataDir } = await serve(folderWith({}));
  const more = 'input: {scene: "{{ scene }}", width: 96, height: 64}\nconcurrency: 8\n';
  const cwd = newBatch(url, sceneCount, more);
  for (let kill = 0; kill < kills; kill += 2) {
    await killAfterLines(cwd, 1 + random(14));
    await killAfterMs(cwd, random(401));
  }
  let last = await nightrender(['run', 'pipeline.yaml'], { cwd, ...withKey });
  // A scene that was in hand at three deaths is set aside until a person asks for it.
  if (attemptsThat("failure_kind = 'quarantined'", cwd) > 0) {
    await nightrender(['retry', 'pipeline.yaml', '--kind', 'quarantined'], { cwd, ...withKey });
    last = await nightrender(['run', 'pipeline.yaml'], { cwd, ...withKey });
  }
  expect(last.code, `seed ${seed}: ${last.stderr}`).toBe(0);
  expectSameBooks(cwd, dataDir, sceneCount);
});

it.skipIf(process.platform !== 'linux')(
  'goes on after its mapped memory was cut away, which no program survives (skipped where that is not Linux)',
  async () => {
    const { url, dataDir } = await serve(folderWith({}));
    const cwd = newBatch(url, 40, 'input: {scene: "{{ scene }}", width: 96, height: 64}\n');
    const program = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
    await program.event('scene-saved', 3);
    truncateSync(join(cwd, 'out/checkpoint.sqlite-shm'));
    await program.finish();
    expect(program.child.signalCode, program.stderr).toBe('SIGBUS');
    const { code, stderr } = await nightrender(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
    expect([code, stderr]).toEqual([0, '']);
    expectSameBooks(cwd, dataDir, 40);
    expect(jobsOf(dataDir)).toBe(40);
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
