/** Promise: a terminal shows one block that is gone at the end; without colours where none are wanted, plain lines where it is dumb. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { rest } from '../fakes/tier.ts';
import { nightOf, root, testKey } from './cli.ts';
import { startSlowService } from './stand-ins.ts';

/** A pseudoterminal of 60 columns is what `script` (util-linux) makes. */
const hasScript = spawnSync('script', ['--version']).status === 0;

/** What a run writes to a terminal. */
async function onTerminal(env: Record<string, string>): Promise<{ code: number | null; text: string }> {
  const service = await startSlowService(100);
  const night = nightOf(service.url, 12);
  const command = `stty cols 60 rows 20; exec node ${join(root, 'dist/nightrender.cjs')} run pipeline.yaml`;
  // What a machine that runs tests says of itself (CI) is taken for a terminal without colours by Node.
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

it.skipIf(!hasScript)(
  'shows a block with colours, and at the end what came of it (skipped where there is no script)',
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
  'without colours where NO_COLOR is set (skipped where there is no script)',
  async () => {
    const { text } = await onTerminal({ NO_COLOR: '1' });
    expect(text).toMatch(/\p{Cc}\[\d+A/u);
    expect(text).not.toMatch(colour);
    expect(text).toContain('gallery   out/report/index.html');
  },
);

rest.it.skipIf(!hasScript)(
  'in plain lines where TERM is dumb (skipped where there is no script)',
  async () => {
    const { code, text } = await onTerminal({ TERM: 'dumb' });
    expect(code).toBe(0);
    expect(text).not.toContain('\u001B');
    expect(text).toContain('12 scenes to render');
  },
);
