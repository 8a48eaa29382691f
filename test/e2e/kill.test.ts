/**
 * Promise: after a kill at any moment the same command continues. No picture is lost, wrong or paid for
 * twice.
 */
import { truncateSync } from 'node:fs';
import { expect, it } from 'vitest';
import { random, rest, runs, seed } from '../fakes/tier.ts';
import { folderWith, jobsOf, type Night, nightOf, serve } from './cli.ts';
import { attemptsThat, expectSameBooks } from './same-books.ts';

/** Number of kills. Of each pair, one happens after a line of output and the other after a time. */
const kills = 2 * runs(50, { ms: 3_000 });
/** More scenes than are done by the last kill, so every kill hits a working run. */
const sceneCount = 13 * kills;
const small = 'input: {scene: "{{ scene }}", width: 32, height: 32}\n';

it(`a run continues after each kill (${kills}) at random moments, and the records of the service agree`, async () => {
  const { url, dataDir } = await serve(folderWith({}));
  const night = nightOf(url, sceneCount, `${small}concurrency: 8\n`);
  for (let kill = 0; kill < kills; kill += 2) {
    await killAfterLines(night, 1 + random(14));
    await killAfterMs(night, random(401));
  }
  let last = await night.run();
  // A scene that was in progress at three crashes is quarantined until a person retries it.
  if (attemptsThat("failure_kind = 'quarantined'", night.cwd) > 0) {
    await night.retry('--kind', 'quarantined');
    last = await night.run();
  }
  expect(last.code, `seed ${seed}: ${last.stderr}`).toBe(0);
  expectSameBooks(night.cwd, dataDir, sceneCount);
});

rest.it.skipIf(process.platform !== 'linux')(
  'a run continues after its mapped memory was cut away, which no program survives (skipped if this is not Linux)',
  async () => {
    const { url, dataDir } = await serve(folderWith({}));
    const night = nightOf(url, 16, small);
    const program = night.program('run', 'pipeline.yaml', '--json');
    await program.event('scene-saved', 3);
    truncateSync(night.path('out/checkpoint.sqlite-shm'));
    await program.finish();
    expect(program.child.signalCode, program.stderr).toBe('SIGBUS');
    await night.run('--quiet').exits(0).warnsOnly('');
    expectSameBooks(night.cwd, dataDir, 16);
    expect(jobsOf(dataDir)).toBe(16);
  },
);

/** Kills the program right after its nth line of output. */
async function killAfterLines(night: Night, lines: number): Promise<void> {
  const program = night.program('run', 'pipeline.yaml', '--json');
  program.child.stdout.on('data', () => {
    if (program.stdout.split('\n').length > lines) program.child.kill('SIGKILL');
  });
  await program.finish();
}

/**
 * Kills the program this long after it reported its start, so also during a commit, an fsync or a decoding.
 * The timer only decides when to kill. The test waits for the end of the process.
 */
async function killAfterMs(night: Night, ms: number): Promise<void> {
  const program = night.program('run', 'pipeline.yaml', '--json');
  let timer: NodeJS.Timeout | undefined;
  program.child.stdout.on('data', () => {
    if (program.stdout.includes('"run-started"'))
      timer ??= setTimeout(() => program.child.kill('SIGKILL'), ms);
  });
  await program.finish();
  clearTimeout(timer);
}
