/** How the test suite runs: every `*.test.ts` under test/, in two parts; most files share their processes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { slowestTests } from './fakes/slowest-tests.ts';

/** What needs a browser, containers, a server of a database or a bucket, or a GPU, or takes long: not in `npm test`, but in what `npm run test:all` adds (`--mode rest`). */
const rest = [
  'test/web/*.test.ts',
  'test/web/console/console.test.ts',
  'test/web/gallery/compared.test.ts',
  'test/web/gallery/gallery.test.ts',
  'test/web/gallery/marks.test.ts',
  'test/web/gallery/live-page.test.ts',
  'test/e2e/blender.test.ts',
  'test/e2e/boxes.test.ts',
  'test/e2e/cancel.test.ts',
  'test/e2e/chaos.test.ts',
  'test/e2e/comfyui-itself.test.ts',
  'test/e2e/image.test.ts',
  'test/e2e/library.test.ts',
  'test/e2e/packed.test.ts',
  'test/e2e/reverse-proxy.test.ts',
  'test/e2e/pasted-commands.test.ts',
  'test/e2e/serve-containers.test.ts',
  'test/e2e/serve-workers.test.ts',
  'test/e2e/watch.test.ts',
  'test/e2e/watch-status.test.ts',
  'test/foreign/*.test.ts',
  'test/runner/pipeline/load.test.ts',
  'test/service/http/{long-answers,slow-clients}.test.ts',
  'test/service/workloads/container-{pull,workload}.test.ts',
  ...filesWith(/\/engines\//),
];

/** `npm test` does a part of these, as much as `fakes/tier.ts` has time for. */
const whole = filesWith(/\/fakes\/tier\.ts'/);

/** The road, each step in its shortest honest form: the tests that may be slow in `npm test`. They take 60 s in all. */
const road = [
  'test/e2e/kill.test.ts',
  'test/e2e/lost-answers.test.ts',
  'test/e2e/other-services.test.ts',
  'test/e2e/comfyui.test.ts',
  'test/e2e/stages.test.ts',
  'test/e2e/export.test.ts',
  'test/e2e/signals.test.ts',
  'test/e2e/serve.test.ts',
  'test/service/kill-under-load.test.ts',
  'test/readme.test.ts',
];

/** They replace whole modules, which lasts as long as the process. */
const alone = filesWith(/\bvi\.mock\(/);

/** Where the program notes which batches have begun: those of tests not where a person's own are. */
const state = mkdtempSync(join(tmpdir(), 'nightrender-state-'));
process.once('exit', () => rmSync(state, { recursive: true, force: true }));

const results = process.env['NIGHTRENDER_TEST_RESULTS'];

export default defineConfig(({ mode }) => ({
  test: {
    projects:
      mode === 'rest'
        ? [project('rest', { include: [...rest, ...whole] })]
        : [
            project('alone', { include: alone }),
            project('shared', {
              include: ['test/**/*.test.ts'],
              exclude: [...rest, ...alone],
              isolate: false,
            }),
          ],
    pool: 'forks',
    // Most of them wait for disks and other processes as much as they compute.
    maxWorkers: 4,
    setupFiles: ['test/fakes/setup.ts'],
    // The program as it is built, taken as it is.
    server: { deps: { external: [/\/dist\//] } },
    // `--allowOnly` is for whoever works at one test.
    allowOnly: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    env: {
      NO_COLOR: '1',
      XDG_STATE_HOME: state,
      ...(mode === 'rest' && { NIGHTRENDER_TEST_ALL: '1' }),
    },
    reporters: [
      'default',
      slowestTests(road),
      ...(results === undefined ? [] : [['json', { outputFile: results }] as ['json', { outputFile: string }]]),
    ],
  },
}));

function project(name: string, test: { include: string[]; exclude?: string[]; isolate?: boolean }): object {
  return { extends: true, test: { name, ...test } };
}

function filesWith(words: RegExp): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file}`)
    .filter((file) => words.test(readFileSync(file, 'utf8')));
}
