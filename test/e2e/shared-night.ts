/**
 * Several runs of a shared batch that are struck repeatedly. Compares the records of the batch with those of
 * the service.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFailed } from 'vitest';
import type { HttpService } from '../fakes/http-service.ts';
import { random } from '../fakes/tier.ts';
import { sendJson } from '../faults/answers.ts';
import { type Finished, type Night, nightOf, type Program, withKey } from './cli.ts';
import { startSlowService } from './stand-ins.ts';

const listed = 240;
const runners = 4;
/** Number of strikes in each round. */
const blows = 5;
export const leaseSeconds = 1;

/**
 * About twelve programs start in each round. It takes 15 s on an idle machine with two cores, and over a
 * minute on a busy one.
 */
export const nightMs = 10 * 60_000;

/** Returns for how long a struck run is out, in ms. This is always longer than the lease. */
export const outMs = (): number => leaseSeconds * 1000 + 500 + random(1500);

interface Row {
  id: string;
  columns: { scene: string };
  state: string;
  attempts: number;
  failure: { kind: string } | null;
}

export type Unanswered = 'resubmit' | 'hold';

/** Starts a run, and decides at which URL it reaches the database. */
export type StartRun = (start: (url: string) => Program) => Promise<Struck> | Struck;

export interface Struck {
  program: Program;
  /** Strikes the run. Resolves when it may continue, or returns undefined if it is dead. */
  strike(): Promise<void> | undefined;
}

export class SharedNight {
  readonly #night: Night;
  readonly #service: HttpService;
  readonly #url: string;
  readonly #programs: Program[] = [];
  #rows: Row[] = [];

  /**
   * Starts the service and creates the batch. `url` is the URL of the database, `batch` the name of the batch
   * there.
   */
  static async begin(url: string, batch: string, unanswered: Unanswered): Promise<SharedNight> {
    const service = await startSlowService(400);
    service.meet = async ({ operation, response, take }) => {
      const { status, fields } = take();
      if (operation === 'run') await delay(random(200));
      sendJson(response, fields, status);
    };
    const more = `checkpoint: \${DATABASE_URL}?lease=${leaseSeconds}&batch=${batch}\nretry: {unanswered: ${unanswered}, firstWait: 100ms}\n`;
    return new SharedNight(nightOf(service.url, listed, more), service, url);
  }

  private constructor(night: Night, service: HttpService, url: string) {
    this.#night = night;
    this.#service = service;
    this.#url = url;
    // If a run does not end, its last lines show where it hangs.
    onTestFailed(() => {
      for (const { child, stdout } of this.#programs)
        process.stdout.write(
          `${child.pid} ended with ${child.exitCode ?? child.signalCode}:${stdout.slice(-2_000)}\n`,
        );
    });
  }

  start(url = this.#url): Program {
    const env = { ...withKey.env, DATABASE_URL: url };
    const program = this.#night.with({ env }).program('run', 'pipeline.yaml', '--json', '--concurrency', '6');
    this.#programs.push(program);
    return program;
  }

  /**
   * Strikes runs until all have ended, and replaces those that are dead. Resolves to the number of strikes.
   */
  async strike(startRun: StartRun): Promise<number> {
    const begin = async (): Promise<Struck> => startRun((url) => this.start(url));
    const living = await Promise.all(Array.from({ length: runners }, begin));
    await expect.poll(() => this.#service.inputs.length, { timeout: nightMs / 2 }).toBeGreaterThan(10);
    const ends: Promise<Finished>[] = [];
    let fallen = 0;
    for (let blow = 0; blow < blows; blow++) {
      await delay(200 + random(500));
      const [struck] = living.splice(random(living.length), 1);
      if (struck === undefined) continue;
      const { program } = struck;
      if (program.child.exitCode !== null) {
        ends.push(program.finish());
        continue;
      }
      fallen += 1;
      const back = struck.strike();
      if (back !== undefined) ends.push(back.then(() => program.finish()));
      living.push(await begin());
    }
    const finished = await Promise.all([...ends, ...living.map(({ program }) => program.finish())]);
    // No run ends because of a bug, and a run that lost its lease has said so.
    const bugs = finished.filter(({ code }) => ![0, 3, 14].includes(code ?? -1));
    expect(
      bugs.map(({ code, stdout, stderr }) => `${code}: ${stdout.slice(-2_000)}${stderr}`).join('\n'),
    ).toBe('');
    return fallen;
  }

  /** Renders the remaining scenes with one more run, and compares all records. */
  async expectBooksInOrder(unanswered: Unanswered): Promise<void> {
    const env = { ...withKey.env, DATABASE_URL: this.#url };
    const night = this.#night.with({ env });
    const last = await night.run('--json', '--concurrency', '6');
    this.#rows = await night.list('--json').warnsOnly('').lines<Row>();
    expect(this.#rows).toHaveLength(listed);
    const submissions = this.#service.submissions();
    for (const row of this.#rows) {
      const sent = submissions.get(row.columns.scene) ?? 0;
      expect(sent, `${row.id}: sent ${sent} times, ${row.attempts} on record`).toBeLessThanOrEqual(
        row.attempts,
      );
      if (unanswered === 'resubmit') expect(row.state, row.id).toBe('saved');
      else expect(sent, row.id).toBeLessThanOrEqual(1);
      if (row.state !== 'saved') expect(row.failure?.kind).toBe('unanswered');
    }
    const isHeld = this.#rows.some(({ state }) => state === 'failed');
    expect(last.code, last.stdout + last.stderr).toBe(isHeld ? 3 : 0);
  }
}

/** Returns one of each kind per round, beginning with a random kind. */
export function nights(count: number): (readonly [Unanswered, number])[] {
  const kinds: Unanswered[] = random(2) === 0 ? ['resubmit', 'hold'] : ['hold', 'resubmit'];
  const rounds = Array.from({ length: count }, (_, i) => 1 + Math.floor(i / kinds.length));
  return rounds.flatMap((round, i) => kinds.slice(i % 2, (i % 2) + 1).map((kind) => [kind, round] as const));
}
