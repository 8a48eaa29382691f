/** Comes before every test file: property tests draw from the seed of the run, and nothing that a file has replaced is left for the next one in its process. */
import { configureGlobal } from 'fast-check';
import { afterAll, vi } from 'vitest';
import { seed } from './tier.ts';

afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

configureGlobal({ seed });
