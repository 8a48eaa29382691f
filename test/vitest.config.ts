/** Says how the test suite runs: every `*.test.ts` under test/, in two tiers. Most files share their processes. */
import { randomInt } from 'node:crypto';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowestTests } from './slowest-tests.ts';
import { makeFolderOnDisk, makeTemporaryFolder } from './temporary-folder.ts';
import { alone, leftToFirst, longest, onDisk, rest, road, tests, whole } from './tiers.ts';

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
    // Most tests wait for disks and other processes as much as they compute. Tests of the longer tier also wait for
    // real clusters and databases.
    maxWorkers: mode === 'rest' ? 5 : 4,
    setupFiles: ['test/fakes/setup.ts'],
    // Vitest must load the built program without transforming it.
    server: { deps: { external: [/\/dist\//] } },
    // `--allowOnly` is for engineers who work on a single test.
    allowOnly: false,
    // A busy machine may need minutes to write a large report.
    hookTimeout: mode === 'rest' ? 600_000 : 120_000,
    expect: { poll: { timeout: 60_000 } },
    env: environment(mode),
    reporters: [
      'default',
      slowestTests(road, seed, mode === 'rest' ? leftToFirst.length : 0),
      ...(results === undefined
        ? []
        : [['json', { outputFile: results }] as ['json', { outputFile: string }]]),
    ],
  },
}));

/**
 * Returns the environment of tests. Vitest reads this file for itself and for each project, so each gets its own
 * folder.
 */
function environment(mode: string): Record<string, string> {
  const folder = makeTemporaryFolder(mode);
  return {
    NO_COLOR: '1',
    TMPDIR: folder,
    // The program records here which batches have begun. The records of tests must not mix with those of a user.
    XDG_STATE_HOME: `${folder}/state`,
    NIGHTRENDER_TEST_SEED: seed,
    ...(mode === 'rest' && {
      NIGHTRENDER_TEST_ALL: '1',
      NIGHTRENDER_TEST_DISK: makeFolderOnDisk(),
      NIGHTRENDER_TEST_ON_DISK: onDisk.join(' '),
    }),
  };
}

/**
 * Returns the two projects: most files share the processes that run them, the others have one each. Tests of thousands
 * of cases take minutes on a busy machine, so `testTimeout` depends on the mode. It must be set for each project.
 */
function projects(files: string[], testTimeout: number): object[] {
  const own = files.filter((file) => alone.includes(file));
  const shared = files.filter((file) => !alone.includes(file));
  return [
    { extends: true, test: { name: 'alone', include: own, testTimeout } },
    { extends: true, test: { name: 'shared', include: shared, isolate: false, testTimeout } },
  ];
}
