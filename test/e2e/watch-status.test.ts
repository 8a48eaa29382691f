/**
 * Promise: `status --watch` shows a run from another terminal until it ends, without flicker and without
 * affecting the run.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { expect, it } from 'vitest';
import { nightOf, root } from './cli.ts';
import { startHeldService } from './held-service.ts';

/** Starts a run with all its jobs in flight. */
async function heldRun() {
  const service = await startHeldService();
  const night = nightOf(service.url, 3);
  const run = night.program('run', 'pipeline.yaml', '--json');
  await run.event('scene-submitted', 3);
  return { night, run, service };
}

it('`status --watch` prints lines if there is no terminal, and ends with 0 and the last state when the run is over', async () => {
  const { night, service, run } = await heldRun();
  const watch = night.program('status', 'pipeline.yaml', '--watch', '--stats');
  await watch.says(/^20\S+ \S+ {2}0 of 3 saved \(0 %\), 3 in flight\n/);
  service.release();
  await run.finish();
  await watch
    .finish()
    .exits(0, /3 of 3 saved \(100 %\)\n[^]*What slowed the run down/)
    .printsNo('\u001b')
    .warnsOnly('');
});

it('`status --watch --json` prints each change as a JSON line, and the kill of the run as the last one', async () => {
  const { night, run } = await heldRun();
  const watch = night.program('status', 'pipeline.yaml', '--watch', '--json');
  await watch.says(/\n/);
  run.child.kill('SIGKILL');
  await run.finish();
  const { code, stdout } = await watch.finish();
  const states = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { isRunning: boolean }).isRunning);
  expect([code, ...states]).toEqual([0, true, false]);
});

it.each(['SIGINT', 'SIGTERM'] as const)(
  '`status --watch` ends with 0 at %s, and the run continues',
  async (signal) => {
    const { night, run, service } = await heldRun();
    const watch = night.program('status', 'pipeline.yaml', '--watch');
    await watch.says(/3 in flight/);
    watch.child.kill(signal);
    await watch.finish().exits(0, 'running since');
    service.release();
    await run.finish().exits(0);
  },
);

it('`status --watch` shows a batch without a run once, and ends', async () => {
  const night = nightOf('local', 1);
  await night.run('--quiet');
  const { stdout } = await night.status();
  await night.status('--watch').exits(0).printsOnly(stdout);
});

const hasScript = spawnSync('script', ['--version']).status === 0;

it.skipIf(!hasScript).each([
  ['draws anew in its place on a terminal of 60 columns', 'xterm', true],
  ['says lines on a terminal that can do no more', 'dumb', false],
])('%s (skipped if there is no `script` to make a terminal)', async (_, TERM, isDrawn) => {
  const { night, run, service } = await heldRun();
  const program = `'${process.execPath}' '${join(root, 'dist/nightrender.cjs')}' status pipeline.yaml --watch`;
  const terminal = spawn('script', ['-qec', `stty cols 60 rows 24; ${program}`, '/dev/null'], {
    cwd: night.cwd,
    env: { ...process.env, TERM },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  const ended = new Promise<number | null>((resolve) => terminal.on('close', resolve));
  await new Promise<void>((resolve) => {
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
      if (/3 in flight/.test(shown)) resolve();
    });
  });
  service.release();
  await run.finish();
  expect(await ended).toBe(0);
  expect(/\[\d+A/.test(shown)).toBe(isDrawn);
  expect(shown.includes('\u001b')).toBe(isDrawn);
  expect(shown).not.toContain('\u001b[2J');
  const lines = stripVTControlCharacters(shown).split(/\r?\n/);
  expect(lines.filter((line) => stringWidth(line) > 60)).toEqual([]);
  expect(lines).toContain('scenes    3 of 3 saved (100 %)');
});
