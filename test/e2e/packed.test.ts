/**
 * Promise: the published package is small. Installed from its tarball or started by npx, it renders without
 * root, git and a compiler.
 */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

// The package registry may be slow.
const timeout = 600_000;

it('the package is installed from its tarball in an empty folder, and renders there', { timeout }, () => {
  const { status, stdout, stderr } = spawnSync('bash', ['test/scripts/install.sh'], { encoding: 'utf8' });
  expect(status, stdout + stderr).toBe(0);
  expect(stdout).toMatch(/\d+ MB in .* it renders$/m);
});
