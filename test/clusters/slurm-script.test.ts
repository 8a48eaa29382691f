/** Promise: a task goes back into the queue after an end that another start may mend, and after no other. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isWhole, sampled } from '../fakes/tier.ts';
import { slurmScript } from '../../src/clusters/slurm-workers.ts';

/** What the task ends with, and what it has asked of Slurm, where its runner ends so. */
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

it('is queued again where its output could not be written to (14), as often as may help', () => {
  if (isWhole) expect(runTask('exit 14')).toEqual({ code: 14, asked: 'requeue 7\n' });
  expect(runTask('exit 14', { SLURM_RESTART_COUNT: '29' })).toEqual({ code: 14, asked: 'requeue 7\n' });
  expect(runTask('exit 14', { SLURM_RESTART_COUNT: '30' })).toEqual({ code: 14, asked: '' });
});

it.each(sampled([0, 2, 3, 10, 12, 13], { ms: 100 }))('is left to a person after %i', (code) => {
  expect(runTask(`exit ${code}`)).toEqual({ code, asked: '' });
});

it.each(sampled(['TERM', 'HUP'], { ms: 1_200 }))(
  'stays ended where it was told to end meanwhile (%s)',
  (signal) => {
    // Bash loses the exit code of a child that ends while a trap of its own runs, as no real runner does.
    const runner = `trap "" HUP; kill -s ${signal} "$PPID"; /bin/sleep 1; exit 14`;
    expect(runTask(runner)).toEqual({ code: 14, asked: '' });
  },
);
