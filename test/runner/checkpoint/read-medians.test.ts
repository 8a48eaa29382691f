/** Promise: medians of job times are right for any number and order of jobs. */
import { expect, it } from 'vitest';
import { readMedians } from '../../../src/runner/checkpoint/read-summary.ts';
import { World } from '../../fakes/world.ts';

const noBreath = (): Promise<void> => Promise.resolve();

it.each<[times: (number | null)[], median: number | null]>([
  [[], null],
  [[null], null],
  [[7], 7],
  [[30, 10], 10],
  [[30, null, 10, 2_000_000_000_000], 30],
  [Array.from({ length: 25_001 }, (_, i) => (i * 7_919) % 25_001), 12_500],
])('the medians are right for %# saved jobs', async (times, median) => {
  const db = attempts(times, 'saved');
  expect(await readMedians(db, noBreath)).toEqual({
    medianDelayTimeMs: median,
    medianExecutionTimeMs: median === null ? null : 2 * median,
  });
});

it('the medians do not count jobs without a picture', async () => {
  expect(await readMedians(attempts([5], 'failed'), noBreath)).toEqual({
    medianDelayTimeMs: null,
    medianExecutionTimeMs: null,
  });
});

/** Records attempts. The execution time of each is twice its delay. */
function attempts(times: (number | null)[], state: string): World['db'] {
  const { db } = new World();
  db.exec("INSERT INTO runs (run, pid, host, program, started_at) VALUES (1, 1, 'here', 'test', 0)");
  db.exec(
    `INSERT INTO scenes (scene, id, fingerprint, position, source, input, columns, state)
     VALUES (1, 'a', 'f', 1, 'x', '{}', '{}', 'active')`,
  );
  const add = db.prepare<[object]>(`
    INSERT INTO attempts (scene, number, run, state, base_url, endpoint_id, version, intended_at, delay_time_ms, execution_time_ms)
    VALUES (1, @number, 1, @state, 'local', 'x', 'v2', 1, @delay, 2 * @delay)`);
  for (const [index, delay] of times.entries()) add.run({ number: index + 1, state, delay });
  return db;
}
