/** Promise: four runs on one shared batch, killed and stopped at random, lose no scene, and submit none twice that is held. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noPostgres, startPostgres, type PostgresServer } from '../engines/postgres.ts';
import { random } from '../fakes/sampled.ts';
import { isWhole } from '../fakes/whole.ts';
import {
  folderWith,
  linesOf,
  nightrender,
  pipeline,
  Program,
  scenes,
  withKey,
  type Finished,
} from './cli.ts';
import { startSlowService, type SlowService } from './slow-service.ts';

let server: PostgresServer;

const rounds = isWhole ? 10 : 1;
const listed = 240;
const runners = 4;
/** Of each round; stopped for longer than the lease. */
const blows = 5;
const leaseSeconds = 1;

describe.skipIf(noPostgres !== undefined)(`shared${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  const cases = Array.from(
    { length: rounds },
    (_, round) => [round + 1, ['resubmit', 'hold'] as const] as const,
  ).flatMap(([round, kinds]) => kinds.map((kind) => [kind, round] as const));
  it.each(cases)('unanswered: %s, round %i', async (unanswered, round) => {
    const service = await startSlowService({ takesMs: 400, answersAfterMs: () => random(200) });
    const cwd = folderWith({
      'pipeline.yaml': pipeline(
        service.url,
        `checkpoint: \${DATABASE_URL}?lease=${leaseSeconds}&batch=${unanswered}-${round}\nretry: {unanswered: ${unanswered}, firstWait: 100ms}\n`,
      ),
      'scenes.csv': scenes(listed),
    });
    const night = new Night(cwd, service);
    await night.strike();
    const last = await night.start().finish();
    await night.expectBooksInOrder(unanswered);
    expect(last.code, last.stdout + last.stderr).toBe(night.held() > 0 ? 3 : 0);
  });
});

interface Row {
  id: string;
  columns: { scene: string };
  state: string;
  attempts: number;
  failure: { kind: string } | null;
}

class Night {
  readonly #cwd: string;
  readonly #service: SlowService;
  #rows: Row[] = [];

  constructor(cwd: string, service: SlowService) {
    this.#cwd = cwd;
    this.#service = service;
  }

  start(): Program {
    const env = { ...withKey.env, DATABASE_URL: server.url };
    return new Program(['run', 'pipeline.yaml', '--json', '--concurrency', '6'], { cwd: this.#cwd, env });
  }

  /** Until all are over: whoever was killed is replaced. */
  async strike(): Promise<void> {
    const living = Array.from({ length: runners }, () => this.start());
    await expect.poll(() => this.#service.jobs()).toBeGreaterThan(10);
    const ends: Promise<Finished>[] = [];
    for (let blow = 0; blow < blows; blow++) {
      await delay(200 + random(500));
      const [struck] = living.splice(random(living.length), 1);
      if (struck === undefined || struck.child.exitCode !== null) continue;
      if (random(2) === 0) struck.child.kill('SIGKILL');
      else {
        struck.child.kill('SIGSTOP');
        ends.push(delay(leaseSeconds * 1000 + 500 + random(1500)).then(() => goOn(struck)));
      }
      living.push(this.start());
    }
    const finished = await Promise.all([...ends, ...living.map((each) => each.finish())]);
    // Nobody dies of a bug; who lost the lease has said so.
    const bugs = finished.filter(({ code }) => ![0, 3, 14].includes(code ?? -1));
    expect(bugs.map(({ stderr }) => stderr)).toEqual([]);
  }

  held(): number {
    return this.#rows.filter(({ state }) => state === 'failed').length;
  }

  async expectBooksInOrder(unanswered: 'resubmit' | 'hold'): Promise<void> {
    await this.#read();
    expect(this.#rows).toHaveLength(listed);
    const submissions = this.#service.submissions();
    for (const row of this.#rows) {
      const sent = submissions.get(JSON.stringify(row.columns.scene)) ?? 0;
      expect(sent, `${row.id}: sent ${sent} times, ${row.attempts} on record`).toBeLessThanOrEqual(
        row.attempts,
      );
      if (unanswered === 'resubmit') expect(row.state, row.id).toBe('saved');
      else expect(sent, row.id).toBeLessThanOrEqual(1);
      if (row.state !== 'saved') expect(row.failure?.kind).toBe('unanswered');
    }
  }

  async #read(): Promise<void> {
    const env = { ...withKey.env, DATABASE_URL: server.url };
    const listing = await nightrender(['list', 'pipeline.yaml', '--json'], { cwd: this.#cwd, env });
    expect(listing.stderr).toBe('');
    this.#rows = linesOf<Row>(listing);
  }
}

function goOn(struck: Program): Promise<Finished> {
  struck.child.kill('SIGCONT');
  return struck.finish();
}
