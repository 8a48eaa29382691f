/** How the test suite runs: every `*.test.ts` under test/, each file in a process of its own, in two parts. */
import { defineConfig } from 'vitest/config';

/** What needs a browser, containers or a GPU, or takes long: not in `npm test`, but in what `npm run test:all` adds (`--mode rest`). */
const rest = [
  'test/web/*.test.ts',
  'test/web/console/console.test.ts',
  'test/web/gallery/gallery.test.ts',
  'test/web/watch/watch.test.ts',
  'test/e2e/cancel.test.ts',
  'test/e2e/chaos.test.ts',
  'test/e2e/pasted-commands.test.ts',
  'test/e2e/scene-renderer.test.ts',
  'test/e2e/serve-containers.test.ts',
  'test/e2e/serve-workers.test.ts',
  'test/e2e/watch.test.ts',
  'test/e2e/watch-status.test.ts',
  'test/runner/pipeline/load.test.ts',
  'test/service/http/{long-answers,slow-clients}.test.ts',
  'test/service/workloads/container-{pull,workload}.test.ts',
];

/** `npm test` tries a tenth of these, or fewer kills; the rest tries all of them. */
const whole = [
  'test/e2e/kill.test.ts',
  'test/runner/pipeline/edited-back.test.ts',
  'test/runner/pipeline/kill-at-every-call.test.ts',
];

const results = process.env['NIGHTRENDER_TEST_RESULTS'];

export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'rest' ? [...rest, ...whole] : ['test/**/*.test.ts'],
    exclude: mode === 'rest' ? [] : rest,
    pool: 'forks',
    // Most of them wait for disks and other processes as much as they compute.
    maxWorkers: '100%',
    setupFiles: ['test/fakes/properties.ts'],
    // The program as it is built, taken as it is.
    server: { deps: { external: [/\/dist\//] } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    env: { NO_COLOR: '1', ...(mode === 'rest' && { NIGHTRENDER_TEST_ALL: '1' }) },
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
  },
}));
