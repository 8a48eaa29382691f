/**
 * What comes before every test file. Replays property tests: what fast-check prints as `seed` on a failure, given as
 * NIGHTRENDER_TEST_SEED, finds it again. And nothing that a file has replaced is left for the next one in its process.
 */
import { afterAll, vi } from 'vitest';

afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

const seed = process.env['NIGHTRENDER_TEST_SEED'];

if (seed !== undefined && seed !== '') {
  if (!/^-?\d+$/.test(seed)) throw new Error(`NIGHTRENDER_TEST_SEED is no whole number: ${seed}`);
  const { configureGlobal } = await import('fast-check');
  configureGlobal({ seed: Number(seed) });
}
