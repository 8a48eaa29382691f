/**
 * Promise: a backup made under load restores, by the steps of the manual, every job accepted by then, its
 * result, and the keys.
 */
import { execFileSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { noPostgres, startPostgres } from '../engines/postgres.ts';
import { runs } from '../fakes/tier.ts';
import { nightrender, nightWith } from '../e2e/cli.ts';
import { Served } from '../e2e/served.ts';
import { Processes } from '../e2e/served-processes.ts';
import { enter } from '../service/console/visit.ts';
import { addKey } from '../service/pull-harness.ts';

/** A worker program that returns its input. Every tenth result is long enough for a file of its own. */
const program = `
process.stdin.setEncoding('utf8');
let rest = '';
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, input } = JSON.parse(line);
    console.log(JSON.stringify({ id, output: { count: input.count, picture: 'x'.repeat(input.bytes) } }));
  }
});`;

const backups = runs(20, { ms: 10_000 });

it('a backup has each job whole, or not at all', { timeout: 600_000 }, async () => {
  const night = nightWith({
    'service.yaml': 'endpoints: [{name: One, command: [node, program.cjs], workers: {max: 2}}]',
    'program.cjs': program,
  });
  const admin = (await night.built('keys', 'add', 'admin', '--kind', 'admin', '--data', 'service')).stdout;
  const client = addKey(night.path('service'), 'client');
  const first = await Served.start(night.cwd, ['service.yaml'], { NIGHTRENDER_API_KEY: admin.trim() });
  /** Job ids by the `count` of their input. */
  const accepted: string[] = [];
  const load = { isOver: false };
  let count = 0;
  const clients = Array.from({ length: 4 }, async () => {
    while (!load.isOver) {
      const nth = count++;
      const body = { input: { count: nth, bytes: bytesOf(nth) } };
      const answer = await first.ask('/v2/one/run', { method: 'POST', key: client, body });
      const { id } = (await answer.json()) as { id: string };
      accepted[nth] = id;
      // Waits for every eighth job, so that some jobs are always waiting but the queue does not grow without
      // limit.
      if (nth % 8 === 0) await first.ended('one', id);
    }
  });
  const made: { dir: string; before: string[]; after: number }[] = [];
  for (let nth = 0; nth < backups; nth++) {
    const enough = count + 60;
    await expect.poll(() => count).toBeGreaterThan(enough);
    const before = accepted.filter((id) => id !== undefined);
    const dir = `backups/${nth}`;
    await night.built('backup', dir, '--data', 'service').exits(0).warnsOnly('');
    made.push({ dir, before, after: count + clients.length });
  }
  await expect.poll(() => count).toBeGreaterThan((made.at(-1)?.after ?? 0) + 20);
  load.isOver = true;
  await Promise.all(clients);
  await first.kill();

  for (const { dir, before, after } of made) {
    renameSync(night.path('service'), night.path(`service.before-${dir.replace('/', '-')}`));
    execFileSync('cp', ['-a', dir, 'service'], { cwd: night.cwd });
    const second = await Served.start(night.cwd, ['service.yaml'], {});
    const asked = async (id: string) => {
      const answer = await second.ask(`/v2/one/status/${id}`, { key: client });
      return { code: answer.status, job: (await answer.json()) as { status?: string; output?: unknown } };
    };
    const waiting: number[] = [];
    for (const [nth, id] of accepted.entries()) {
      const { code, job } = await asked(id);
      if (before.includes(id)) expect(code).toBe(200);
      if (nth > after) expect(code).toBe(404);
      if (code === 404) continue;
      if (job.status === 'COMPLETED') expectOutput(nth, job.output);
      else waiting.push(nth);
      expect(job.status).toMatch(/^(COMPLETED|IN_QUEUE)$/);
    }
    // Restored jobs wait until a person resumes the endpoint, so nothing is paid for unasked.
    const visit = await enter(second.url, admin.trim());
    const endpoint = await visit.endpoint('one');
    expect(endpoint).toMatchObject({ isPaused: waiting.length > 0, jobs: { inQueue: waiting.length } });
    await visit.ask('POST', 'endpoints/one/resume');
    for (const nth of waiting) {
      const job = await second.ask(`/v2/one/status-sync/${accepted[nth]}`, { key: client });
      expectOutput(nth, ((await job.json()) as { output?: unknown }).output);
    }
    expect((await second.stop()).code).toBe(0);
  }
});

it.skipIf(noPostgres !== undefined)(
  `a dump of a PostgreSQL store by its own tools has each job whole, or not at all${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  async () => {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const processes = new Processes(server.url, 'remote: true');
    const first = await processes.start();
    const kept = await first.submit('scene-renderer', { scene: 'Hills' });
    const folder = join(first.cwd, 'service');
    await nightrender(['backup', join(first.cwd, 'copy'), '--data', folder]).fails(
      2,
      'pg_dump --format=custom --schema=',
    );
    const dump = join(first.cwd, 'service.dump');
    execFileSync('pg_dump', [
      '--format=custom',
      `--schema=${processes.schema}`,
      `--file=${dump}`,
      server.url,
    ]);
    const later = await first.submit('scene-renderer', { scene: 'Hills' });
    await first.stop();
    execFileSync('pg_restore', [
      '--clean',
      '--if-exists',
      '--single-transaction',
      `--dbname=${server.url}`,
      dump,
    ]);
    const second = await processes.start();
    expect(await second.status('scene-renderer', kept)).toMatchObject({ status: 'IN_QUEUE' });
    expect((await second.ask(`/v2/scene-renderer/status/${later}`)).status).toBe(404);
  },
);

function expectOutput(count: number, output: unknown): void {
  const { picture, ...rest } = output as { count: number; picture: string };
  expect([rest, picture.length]).toEqual([{ count }, bytesOf(count)]);
}

function bytesOf(count: number): number {
  return count % 10 === 0 ? 300_000 : 10;
}
