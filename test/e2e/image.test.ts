/**
 * Promise: the image of the Containerfile does not run as root, ends on SIGTERM, resumes, and reports the
 * health of its service.
 */
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { prepareContainers } from '../service/workloads/container-image.ts';
import { linesOf, nightOf, root } from './cli.ts';

const run = promisify(execFile);
const image = 'localhost/nightrender/nightrender:1';
// The package registry and the disk may be slow.
const timeout = 600_000;

const prepared = await prepareContainers();
const dpkg = await run('dpkg', ['--version']).catch(() => undefined);
const skipped =
  typeof prepared === 'string'
    ? `(skipped: podman cannot run containers here: ${prepared})`
    : dpkg === undefined
      ? '(skipped: this is no Debian)'
      : '';
afterAll(() => (typeof prepared === 'string' ? undefined : prepared.remove()));

beforeAll(async () => {
  if (skipped !== '') return;
  const { command, containerArguments } = tool();
  const folder = await mkdtemp(join(tmpdir(), 'nightrender-image-'));
  const env = { ...process.env, LIMITS: containerArguments.join(' ') };
  const script = ['test/scripts/make-image.sh', folder, image, ...command];
  await run('bash', script, { cwd: root, env, maxBuffer: 64 * 1024 * 1024 });
  await rm(folder, { recursive: true, force: true });
}, timeout);

function tool() {
  if (typeof prepared === 'string') throw new Error(prepared);
  return prepared.tool;
}

/** Runs the container tool. Returns the exit code with the output. */
function podman(...args: string[]) {
  const [program = '', ...rest] = tool().command;
  const finished = run(program, [...rest, ...args]);
  const ended = finished.then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  );
  return Object.assign(ended, { child: finished.child });
}

const container = (name: string, ...args: string[]) =>
  podman('run', `--name=${name}`, '--network=none', ...tool().containerArguments, ...args);

it.skipIf(skipped !== '')(
  `the container image renders, ends in order when it is stopped, and resumes ${skipped}`,
  async () => {
    const count = 12;
    const batch = nightOf('local', count, 'concurrency: 2\n');
    chmodSync(batch.cwd, 0o777);
    const night = (name: string) =>
      container(name, `--volume=${batch.cwd}:/night`, image, 'run', 'pipeline.yaml', '--json');

    const first = night('first');
    for await (const line of createInterface({ input: first.child.stdout as Readable }))
      if ((JSON.parse(line) as { type: string }).type === 'scene-saved') break;
    expect(await podman('stop', '--time=60', 'first')).toMatchObject({ code: 0 });
    const stopped = await first;
    const resumed = await night('second');
    expect([stopped.code, resumed.code]).toEqual([143, 0]);

    const saved = (lines: { stdout: string }) =>
      linesOf(lines).filter(({ type }) => type === 'scene-saved').length;
    expect(saved(stopped)).toBeLessThan(count);
    expect(saved(stopped) + saved(resumed)).toBe(count);
    expect(readdirSync(batch.path('out/images')).filter((name) => name.endsWith('.png'))).toHaveLength(count);
  },
);

it.skipIf(skipped !== '')(`the container image serves, and says whether it answers ${skipped}`, async () => {
  const serve = (name: string, port: number) =>
    container(name, '--detach', '--volume=farm:/data', image, 'serve', '--port', String(port));
  const health = async (name: string) => (await podman('healthcheck', 'run', name)).code;
  const logs = async (name: string) => (await podman('logs', name)).stdout;

  await serve('service', 4747);
  await expect.poll(() => logs('service')).toContain('NIGHTRENDER_API_KEY=nr_');
  expect(await health('service')).toBe(0);
  expect((await podman('exec', 'service', 'node', '-p', 'process.getuid()')).stdout).toBe('1000\n');
  await podman('stop', '--time=60', 'service');
  expect((await podman('wait', 'service')).stdout).toBe('0\n');

  // Jobs and keys are still there. The health check fails because the service listens on another port.
  await serve('elsewhere', 4748);
  await expect.poll(() => logs('elsewhere')).toContain('one of `nightrender keys list`');
  expect(await health('elsewhere')).toBe(1);
});
