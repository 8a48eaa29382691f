/** How the test suite runs: every `*.test.ts` under test/, in two parts; most files share their processes. */
import { randomInt } from 'node:crypto';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowestTests } from './slowest-tests.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';
import { alone, longest, rest, road, tests, whole } from './tiers.ts';

/** Every random case of a run comes from this seed. */
const seed = process.env['NIGHTRENDER_TEST_SEED'] || String(randomInt(2 ** 31));
if (!/^-?\d+$/.test(seed)) throw new Error(`NIGHTRENDER_TEST_SEED is no whole number: ${seed}`);

const results = process.env['NIGHTRENDER_TEST_RESULTS'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is Vitest's own method
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
  return rank === -1 ? longest.length : rank;
}

export default defineConfig(({ mode }) => ({
  test: {
    projects:
      mode === 'rest'
        ? projects([...rest, ...whole], 600_000)
        : projects(
            tests.filter((file) => !rest.includes(file)),
            120_000,
          ),
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // Most of them wait for disks and other processes as much as they compute.
    maxWorkers: 4,
    setupFiles: ['test/fakes/setup.ts'],
    // The program as it is built, taken as it is.
    server: { deps: { external: [/\/dist\//] } },
    // `--allowOnly` is for whoever works at one test.
    allowOnly: false,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    env: environment(mode),
    reporters: [
      'default',
      slowestTests(road, seed),
      ...(results === undefined
        ? []
        : [['json', { outputFile: results }] as ['json', { outputFile: string }]]),
    ],
  },
}));

/** Vitest reads this file for itself and for each project, so that each has a folder of its own. */
function environment(mode: string): Record<string, string> {
  const folder = makeTemporaryFolder(mode);
  return {
    NO_COLOR: '1',
    TMPDIR: folder,
    // Where the program notes which batches have begun: those of tests not where a person's own are.
    XDG_STATE_HOME: `${folder}/state`,
    NIGHTRENDER_TEST_SEED: seed,
    ...(mode === 'rest' && { NIGHTRENDER_TEST_ALL: '1' }),
  };
}

/** Most files share the processes that run them; the others have one each. */
/** Tests of thousands of cases take minutes on a busy machine. What depends on the mode has to be said to each project. */
function projects(files: string[], testTimeout: number): object[] {
  const own = files.filter((file) => alone.includes(file));
  const shared = files.filter((file) => !alone.includes(file));
  return [
    { extends: true, test: { name: 'alone', include: own, testTimeout } },
    { extends: true, test: { name: 'shared', include: shared, isolate: false, testTimeout } },
  ];
}
