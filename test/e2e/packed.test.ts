/** Promise: what is published works alone: installed from its tarball in an empty folder, it renders. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { folderWith, root } from './cli.ts';

const maxTarballBytes = 2_000_000;

// A registry may be slow.
const timeout = 600_000;

it(
  'is installed from its tarball of less than 2 MB in an empty folder, and renders there',
  { timeout },
  async () => {
    const dir = folderWith({ 'package.json': '{"private": true}' });
    // The build is there, and others use it at present: it is packed as it is.
    await npm(root, 'pack', '--ignore-scripts', '--pack-destination', dir);
    const tarball = readdirSync(dir).find((file) => file.endsWith('.tgz')) ?? '';
    expect(statSync(join(dir, tarball)).size).toBeLessThan(maxTarballBytes);
    await npm(dir, 'install', '--prefer-offline', '--no-audit', '--no-fund', join(dir, tarball));
    const installed = join(dir, 'node_modules/nightrender');
    expect(existsSync(join(installed, 'dist/test'))).toBe(false);
    expect(readFileSync(join(installed, 'dist/LICENSES.txt'), 'utf8')).toMatch(/^yargs \d+.*\(MIT\)$/m);
    const nightrender = join(dir, 'node_modules/.bin/nightrender');
    await run(nightrender, ['init', 'batch'], dir);
    const { stdout } = await run(nightrender, ['run', 'batch/pipeline.yaml'], dir);
    expect(stdout).toContain('Every scene is saved');
    expect((await run(nightrender, ['help', 'start'], dir)).stdout).toContain('nightrender');
    const other = 'endpoint: {speaks: fal, id: fal-ai/flux/dev, apiKey: key}\noutput: {dir: other}\n';
    writeFileSync(join(dir, 'batch/other.yaml'), `manifest: scenes.csv\n${other}`);
    const plan = await run(nightrender, ['plan', 'batch/other.yaml'], dir);
    expect(plan.stdout).toContain('POST https://queue.fal.run/fal-ai/flux/dev');
  },
);

const run = (file: string, args: string[], cwd: string): Promise<{ stdout: string }> =>
  promisify(execFile)(file, args, { cwd, maxBuffer: 2 ** 26 });

function npm(cwd: string, ...args: string[]): Promise<unknown> {
  return run('npm', args, cwd);
}
