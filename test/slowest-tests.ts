/**
 * Prints the seed of a run when it begins, and the slowest tests when it ends, so that people notice if tests become
 * slower.
 */
import type { Reporter, TestModule } from 'vitest/node';

const maxMsPerTest = 300;

/**
 * Returns the reporter. `road`: files that may take longer than 300 ms for each test, as paths from the root. `filesLeft`: number
 * of files with tests that this run leaves to `npm test`.
 */
export function slowestTests(road: readonly string[], seed: string, filesLeft: number): Reporter {
  return {
    onInit() {
      process.stdout.write(`seed: ${seed} (NIGHTRENDER_TEST_SEED=${seed} repeats its random choices)\n`);
      if (filesLeft > 0)
        process.stdout.write(
          `left to npm test: the tests that ${filesLeft} files declare by firstTier.it and firstTier.describe\n`,
        );
    },
    onTestRunEnd(modules) {
      const files = modules.map(durationsOf);
      const tests = files.flatMap((file) => file.tests);
      const totalMs = sum(tests.map(({ ms }) => ms));
      const slowest = tests.toSorted((a, b) => b.ms - a.ms).slice(0, 10);
      if (slowest.length < 10) return;
      const share = Math.round((100 * sum(slowest.map(({ ms }) => ms))) / totalMs);
      const onRoad = files.filter(({ file }) => road.includes(file)).flatMap((file) => file.tests);
      const slow = files
        .filter(({ file }) => !road.includes(file))
        .map(({ file, tests: its }) => ({ file, ms: sum(its.map(({ ms }) => ms)), count: its.length }))
        .filter(({ ms, count }) => ms > maxMsPerTest * count)
        .toSorted((x, y) => y.ms - x.ms)
        .slice(0, 10)
        .map(({ file, ms }) => `${file} (${seconds(ms)} s)`);
      const lines = [
        `The ten slowest of ${tests.length} tests take ${share} % of ${seconds(totalMs)} s:`,
        ...slowest.map(({ ms, name }) => `  ${seconds(ms)} s  ${name}`),
        `The tests of the main path take ${seconds(sum(onRoad.map(({ ms }) => ms)))} s.`,
        ...(slow.length > 0
          ? [`The longest files with more than ${maxMsPerTest} ms a test: ${slow.join(', ')}.`]
          : []),
      ];
      process.stdout.write(`\n${lines.join('\n')}\n`);
    },
  };
}

interface Duration {
  name: string;
  ms: number;
}

function durationsOf(module: TestModule): { file: string; tests: Duration[] } {
  const file = module.relativeModuleId;
  const tests = [...module.children.allTests()].map((test) => ({
    name: `${file} > ${test.fullName}`,
    ms: test.diagnostic()?.duration ?? 0,
  }));
  return { file, tests };
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}
