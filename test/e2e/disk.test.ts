/**
 * Promise: a full, read-only or blocked disk ends the run in an orderly way. No file is half-written, and
 * nothing is paid twice.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import sharp from 'sharp';
import { expect, it, onTestFinished } from 'vitest';
import type { HttpService } from '../fakes/http-service.ts';
import { firstTier, sampled } from '../fakes/tier.ts';
import { type Finished, type Night, nightOf, ownPlaces, root, withKey } from './cli.ts';
import { completed, startHeldStandIn, type HeldStandIn } from './stand-ins.ts';
import { canMount, mountSmallDisk, setReadOnly } from './small-disk.ts';

const notMounted = '(skipped if this user may not mount a file system)';

firstTier.it.skipIf(!canMount)(
  `a full disk: ends with 14 and continues when there is space ${notMounted}`,
  async () => {
    const { night, service, count } = await batch({ count: 14, side: 256 });
    mountSmallDisk(night.path('out'), 8);
    // Leaves space for the checkpoint and some pictures, but not for all.
    const ballast = night.path('out/ballast');
    writeFileSync(ballast, Buffer.alloc(6_000_000));
    const full = await night.run().exits(14);
    // Either a picture fails, which the last lines report, or the checkpoint.
    const told = full.stdout + full.stderr;
    expect(told).toMatch(/disk is full/);
    expect(told).not.toContain('    at ');
    const before = await wholePictures(night);
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(count);
    await night.run().exits(14);
    rmSync(ballast);
    await expectFinished(night, service, count);
  },
);

firstTier.it.skipIf(!canMount)(
  `a disk that becomes read-only during a run: ends with 14 and continues when it is writable ${notMounted}`,
  async () => {
    const { night, service, count } = await batch({ held: 6 });
    const images = night.path('out/images');
    mountSmallDisk(images, 64);
    const program = night.program('run', 'pipeline.yaml', '--json');
    await program.event('scene-saved', 3);
    setReadOnly(images, true);
    service.release();
    await program.finish().exits(14);
    expect(program.stdout).toContain('the file system is read-only (EROFS)');
    expect(await wholePictures(night)).toBeLessThan(count);
    setReadOnly(images, false);
    await expectFinished(night, service, count);
  },
);

firstTier.it(
  'a folder with the name of a picture: ends with 14 and continues when it is removed',
  async () => {
    const { night, service } = await batch();
    const folder = night.path('out/images/s3.png');
    mkdirSync(folder, { recursive: true });
    await night.run().exits(14, 'images/s3.png: a folder stands where the file belongs (EISDIR)');
    rmdirSync(folder);
    await wholePictures(night);
    await expectFinished(night, service);
  },
);

firstTier.it.skipIf(process.platform !== 'linux')(
  'an impossible output folder: ends with 14 and a message (skipped if there is no /proc)',
  async () => {
    const night = nightOf('local', 1);
    await night
      .run('--output', '/proc/here/there')
      .fails(14, /^cannot make the folder \/proc\/here: the file system takes no folders there; .*\n$/);
  },
);

it.skipIf(process.platform === 'win32')(
  'too many open files: ends with 14 and a message, wherever that happens (skipped if a shell has no ulimit)',
  async () => {
    const { night, service, count } = await batch({ count: 40, concurrency: 40 });
    // The lowest limits prevent the program from loading itself, the others from writing many pictures at
    // once.
    for (const limit of sampled([24, 32, 40, 70, 100, 104, 108], { ms: 500, least: 2 })) {
      const { code, stdout, stderr } = await inShell(`ulimit -n ${limit}; exec "$@"`, night);
      // A failed picture is reported in the last lines, and a failed checkpoint on standard error.
      const told = stdout + stderr;
      expect([0, 14], `${limit}: ${told}`).toContain(code);
      expect(told, String(limit)).not.toMatch(/^ +at |Node\.js v/m);
      if (code === 14) expect(told).toMatch(/too many files.*(EMFILE).*ulimit -n/);
      if (limit < 40) expect(code).toBe(14);
    }
    await expectFinished(night, service, count);
  },
);

it.skipIf(process.platform === 'win32').each(
  sampled(
    [
      ['stdout is read for one line only', '"$@" --json | head -n 1 >&2; exit ${PIPESTATUS[0]}'],
      ['stdout and stderr are read for one line only', '"$@" 2>&1 | head -n 1; exit ${PIPESTATUS[0]}'],
      ['neither is there', '"$@" >&- 2>&-'],
      ['stdout takes nothing more', '"$@" --json >/dev/full'],
    ],
    { ms: 500 },
  ),
)('a run continues to its end if %s (skipped if there is no such shell)', async (_, script) => {
  const { night, service } = await batch();
  const { code, stderr } = await inShell(script, night);
  expect(code, stderr).toBe(0);
  await expectFinished(night, service);
});

/** Runs a shell script in which `"$@"` is the run. */
async function inShell(script: string, { cwd }: Night): Promise<Finished> {
  const command = [process.execPath, join(root, 'dist/nightrender.cjs'), 'run', 'pipeline.yaml'];
  const child = spawn('bash', ['-c', script, 'bash', ...command], {
    cwd,
    env: { ...ownPlaces(), ...withKey.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, 'exit');
  return { code: child.exitCode, stdout, stderr };
}

interface Batch {
  night: Night;
  service: HeldStandIn;
  count: number;
}

/**
 * Creates a batch with a stand-in service, whose records show all payments. Jobs after the first `held` wait
 * for `release`.
 */
async function batch({ count = 12, side = 32, concurrency = 12, held = Infinity } = {}): Promise<Batch> {
  const pixels = { raw: { width: side, height: side, channels: 3 } } as const;
  const noise = await sharp(randomBytes(3 * side * side), pixels)
    .png()
    .toBuffer();
  const output = [{ rendered_image: noise.toString('base64'), seed: 1 }];
  const service = await startHeldStandIn({ first: held, plan: { end: () => completed(output) } });
  const more = `input: {scene: "{{ scene }}"}\nconcurrency: ${concurrency}\n`;
  return { night: nightOf(service.url, count, more), service, count };
}

/**
 * Expects that every picture is complete, and that the service was asked once for each scene, over all runs.
 */
async function expectFinished(night: Night, service: HttpService, count = 12): Promise<void> {
  await night.run().exits(0);
  expect(await wholePictures(night)).toBe(count);
  expect(service.jobs.all).toHaveLength(count);
}

/** Returns the number of pictures with final names. Throws if one is incomplete or another file exists. */
async function wholePictures(night: Night): Promise<number> {
  const dir = night.path('out/images');
  const names = readdirSync(dir).filter((name) => !name.startsWith('.nightrender-'));
  for (const name of names) {
    const bytes = readFileSync(join(dir, name));
    expect(bytes.subarray(-8, -4).toString('latin1'), name).toBe('IEND');
    expect((await sharp(bytes).raw().toBuffer()).length, name).toBeGreaterThan(0);
  }
  return names.length;
}
