/** How the test suite runs: every `*.test.ts` under test/, each file in a process of its own. */
import { defineConfig } from 'vitest/config';

const results = process.env['NIGHTRENDER_TEST_RESULTS'];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most of them wait for disks and other processes as much as they compute.
    maxWorkers: '100%',
    setupFiles: ['test/fakes/properties.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    env: { NO_COLOR: '1' },
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
  },
});
