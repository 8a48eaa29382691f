/** A night of several runs on one shared batch, at which blows are struck; its books are compared with those of the service. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFailed } from 'vitest';
import type { HttpService } from '../fakes/http-service.ts';
import { random } from '../fakes/tier.ts';
import { sendJson } from '../faults/answers.ts';
import { type Finished, type Night, nightOf, type Program, withKey } from './cli.ts';
import { startSlowService } from './stand-ins.ts';

const listed = 240;
const runners = 4;
/** Of each round. */
const blows = 5;
export const leaseSeconds = 1;

/** A dozen programs start in each night, which takes 15 s on a quiet machine of two cores and over a minute on a busy one. */
export const nightMs = 10 * 60_000;

/** Somebody who is struck is out for longer than the lease. */
export const outMs = (): number => leaseSeconds * 1000 + 500 + random(1500);

interface Row {
  id: string;
  columns: { scene: string };
  state: string;
  attempts: number;
  failure: { kind: string } | null;
}

export type Unanswered = 'resubmit' | 'hold';

/** A run, and by which address it reaches the database. */
export type StartRun = (start: (url: string) => Program) => Promise<Struck> | Struck;

export interface Struck {
  program: Program;
  /** Resolves when it may go on; undefined where it does not. */
  strike(): Promise<void> | undefined;
}

export class SharedNight {
  readonly #night: Night;
  readonly #service: HttpService;
  readonly #url: string;
  readonly #programs: Program[] = [];
  #rows: Row[] = [];

  /** `url`: of the database; `batch`: its name there. */
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
    // Of one that does not end, the last lines tell where it stands.
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

  /** Until all are over: whoever was struck is replaced. Resolves to how many blows fell. */
  async strike(startRun: StartRun): Promise<number> {
    const begin = async (): Promise<Struck> => startRun((url) => this.start(url));
    const living = await Promise.all(Array.from({ length: runners }, begin));
    await expect.poll(() => this.#service.inputs.length).toBeGreaterThan(10);
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
    // Nobody dies of a bug; who lost the lease has said so.
    const bugs = finished.filter(({ code }) => ![0, 3, 14].includes(code ?? -1));
    expect(bugs.map(({ stderr }) => stderr)).toEqual([]);
    return fallen;
  }

  /** What is left is rendered by one more run. */
  async expectBooksInOrder(unanswered: Unanswered): Promise<void> {
    const last = await this.start().finish();
    await this.#read();
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

  async #read(): Promise<void> {
    const env = { ...withKey.env, DATABASE_URL: this.#url };
    const told = this.#night.with({ env }).built('list', 'pipeline.yaml', '--json');
    this.#rows = await told.warnsOnly('').lines<Row>();
  }
}

/** One of each kind in every round, from whichever. */
export function nights(count: number): (readonly [Unanswered, number])[] {
  const kinds: Unanswered[] = random(2) === 0 ? ['resubmit', 'hold'] : ['hold', 'resubmit'];
  const rounds = Array.from({ length: count }, (_, i) => 1 + Math.floor(i / kinds.length));
  return rounds.flatMap((round, i) => kinds.slice(i % 2, (i % 2) + 1).map((kind) => [kind, round] as const));
}
