/**
 * Promise: a terminal shows one block, which disappears at the end. Colours can be disabled, and a dumb
 * terminal gets plain lines.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { firstTier, rest } from '../fakes/tier.ts';
import { nightOf, root, testKey } from './cli.ts';
import { startSlowService } from './stand-ins.ts';

/** True if `script` (util-linux) is installed, which creates a pseudoterminal. */
const hasScript = spawnSync('script', ['--version']).status === 0;

/** Returns what a run writes to a terminal of 60 columns. */
async function onTerminal(env: Record<string, string>): Promise<{ code: number | null; text: string }> {
  const service = await startSlowService(100);
  const night = nightOf(service.url, 12);
  const command = `stty cols 60 rows 20; exec node ${join(root, 'dist/nightrender.cjs')} run pipeline.yaml`;
  // Node assumes a terminal without colours if the variable CI is set.
  const { NO_COLOR: _none, FORCE_COLOR: _forced, CI: _ci, ...clean } = process.env;
  const script = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: night.cwd,
    env: { ...clean, TERM: 'xterm-256color', NIGHTRENDER_API_KEY: testKey, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void script.kill('SIGKILL'));
  const ended = once(script, 'close');
  const text = await textOf(script.stdout);
  await ended;
  return { code: script.exitCode, text };
}

const colour = /\p{Cc}\[\d+m/u;

firstTier.it.skipIf(!hasScript)(
  'a terminal shows a block with colours, and the result at the end (skipped if there is no script)',
  async () => {
    const { code, text } = await onTerminal({});
    expect(code).toBe(0);
    expect(text).toMatch(/\p{Cc}\[\d+A/u);
    expect(text).toMatch(colour);
    expect(text).toMatch(/12 of 12 saved|in flight/);
    const last = text.lastIndexOf('\u001B[J');
    expect(text.slice(last)).toContain('Every scene is saved');
    expect(text.slice(last)).not.toContain('in flight ·');
    const [, address = '', shown] =
      /gallery {3}\p{Cc}\]8;;(\P{Cc}+)\p{Cc}\\(\P{Cc}+)\p{Cc}\]8;;\p{Cc}\\/u.exec(text) ?? [];
    expect([new URL(address).hostname, shown]).toEqual([hostname().toLowerCase(), 'out/report/index.html']);
    expect(existsSync(decodeURIComponent(new URL(address).pathname))).toBe(true);
  },
);

rest.it.skipIf(!hasScript)(
  'a terminal shows no colours if NO_COLOR is set (skipped if there is no script)',
  async () => {
    const { text } = await onTerminal({ NO_COLOR: '1' });
    expect(text).toMatch(/\p{Cc}\[\d+A/u);
    expect(text).not.toMatch(colour);
    expect(text).toContain('gallery   out/report/index.html');
  },
);

rest.it.skipIf(!hasScript)(
  'a terminal shows plain lines if TERM is dumb (skipped if there is no script)',
  async () => {
    const { code, text } = await onTerminal({ TERM: 'dumb' });
    expect(code).toBe(0);
    expect(text).not.toContain('\u001B');
    expect(text).toContain('12 scenes to render');
  },
);
