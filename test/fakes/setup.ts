/**
 * Runs before every test file. Property tests use the seed of the run, and mocks of one file never affect the next file
 * in the same process.
 */
import { configureGlobal } from 'fast-check';
import { afterAll, expect, vi } from 'vitest';
import { seed } from './tier.ts';

const onDisk = (process.env['NIGHTRENDER_TEST_ON_DISK'] ?? '').split(' ');
const { testPath } = expect.getState();
if (onDisk.some((file) => testPath?.endsWith(`/${file}`)))
  vi.stubEnv('TMPDIR', process.env['NIGHTRENDER_TEST_DISK']);

afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

configureGlobal({ seed });
