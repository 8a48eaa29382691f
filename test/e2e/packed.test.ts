/** Promise: what is published is small, and installed from its tarball, or started by npx, it renders, for a user without rights, git and compiler. */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

// A registry may be slow.
const timeout = 600_000;

it('is installed from its tarball in an empty folder, and renders there', { timeout }, () => {
  const { status, stdout, stderr } = spawnSync('bash', ['test/scripts/install.sh'], { encoding: 'utf8' });
  expect(status, stdout + stderr).toBe(0);
  expect(stdout).toMatch(/\d+ MB in .* it renders$/m);
});
