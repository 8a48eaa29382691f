/** Promise: a task is requeued if a restart may help, and after no other ending. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isWhole, sampled } from '../fakes/tier.ts';
import { slurmScript } from '../../src/clusters/slurm-workers.ts';

/** Runs a task with this runner. Returns its exit code, and the `scontrol` commands that it called. */
function runTask(runner: string, env: Record<string, string> = {}): { code: number | null; asked: string } {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-slurm-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  const programs = { scontrol: `echo "$@" >> '${dir}/asked'`, sleep: ':' };
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(dir, 'asked'), '');
  const script = slurmScript({
    name: 'night',
    runners: 1,
    folder: dir,
    command: ['/bin/sh', '-c', runner],
    memoryBytes: 1,
    drainMs: 1_000,
    endMs: 1_000,
    options: [],
  });
  const { status } = spawnSync('/bin/bash', ['-c', script], {
    env: { PATH: `${bin}:${process.env['PATH']}`, SLURM_JOB_ID: '7', ...env },
  });
  return { code: status, asked: readFileSync(join(dir, 'asked'), 'utf8') };
}

it('a task is queued again if its output could not be written to (14), as often as may help', () => {
  if (isWhole) expect(runTask('exit 14')).toEqual({ code: 14, asked: 'requeue 7\n' });
  expect(runTask('exit 14', { SLURM_RESTART_COUNT: '29' })).toEqual({ code: 14, asked: 'requeue 7\n' });
  expect(runTask('exit 14', { SLURM_RESTART_COUNT: '30' })).toEqual({ code: 14, asked: '' });
});

it.each(sampled([0, 2, 3, 10, 12, 13], { ms: 100 }))('a task is left to a person after %i', (code) => {
  expect(runTask(`exit ${code}`)).toEqual({ code, asked: '' });
});

it.each(sampled(['TERM', 'HUP'], { ms: 1_200 }))(
  'a task stays ended if it was told to end meanwhile (%s)',
  (signal) => {
    // Bash loses the exit code of a child that ends while a trap runs, so the runner waits a second. A real
    // runner takes as long.
    const runner = `trap "" HUP; kill -s ${signal} "$PPID"; /bin/sleep 1; exit 14`;
    expect(runTask(runner)).toEqual({ code: 14, asked: '' });
  },
);
