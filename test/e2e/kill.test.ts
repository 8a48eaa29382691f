/** Promise: a program that is killed at any moment goes on with the same command; no picture is lost, wrong or paid twice. */
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/better-sqlite3.ts';
import { expect, it } from 'vitest';
import { random, seed } from '../fakes/sampled.ts';
import { isWhole } from '../fakes/whole.ts';
import { folderWith, newBatch, nightrender, Program, serve, withKey } from './cli.ts';

/** More than are done by the last of the kills, so that each meets a run at work. */
const sceneCount = isWhole ? 240 : 72;
const kills = isWhole ? 20 : 6;

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
  expectSameBooks(cwd, dataDir);
});

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

interface SavedRow {
  file: string;
  sha256: string;
  job_id: string;
}

/** Every picture is what the service made for its job; every job of the service is declared by the checkpoint. */
function expectSameBooks(cwd: string, dataDir: string): void {
  const checkpoint = new Sqlite(join(cwd, 'out/checkpoint.sqlite'), { readonly: true });
  const service = new Sqlite(join(dataDir, 'service.sqlite'), { readonly: true });
  try {
    const saved = checkpoint
      .prepare<[], SavedRow>('SELECT file, sha256, job_id FROM pictures JOIN attempts USING (attempt)')
      .all();
    expect(saved, `seed ${seed}`).toHaveLength(sceneCount);
    const outputOf = service.prepare<[string], { output: string }>('SELECT output FROM job WHERE id = ?');
    for (const { file, sha256, job_id } of saved) {
      const [made] = JSON.parse(outputOf.get(job_id)?.output ?? '[]') as { rendered_image: string }[];
      const onDisk = readFileSync(join(cwd, 'out/images', file));
      expect(onDisk.equals(Buffer.from(made?.rendered_image ?? '', 'base64')), `${file}, seed ${seed}`).toBe(
        true,
      );
      expect(createHash('sha256').update(onDisk).digest('hex')).toBe(sha256);
    }
    expect(readdirSync(join(cwd, 'out/images'))).toHaveLength(sceneCount);
    const jobs = service.prepare<[], { n: number }>('SELECT count(*) AS n FROM job').get()?.n ?? 0;
    const declared = attemptsThat("state = 'unanswered' OR failure_kind = 'quarantined'", cwd);
    expect(jobs, `seed ${seed}: jobs at the service`).toBeGreaterThanOrEqual(sceneCount);
    expect(jobs, `seed ${seed}: jobs at the service`).toBeLessThanOrEqual(sceneCount + declared);
  } finally {
    checkpoint.close();
    service.close();
  }
}

function attemptsThat(are: string, cwd: string): number {
  const checkpoint = new Sqlite(join(cwd, 'out/checkpoint.sqlite'), { readonly: true });
  try {
    return (
      checkpoint.prepare<[], { n: number }>(`SELECT count(*) AS n FROM attempts WHERE ${are}`).get()?.n ?? 0
    );
  } finally {
    checkpoint.close();
  }
}
