/**
 * Runs the steps of a scenario, kills the program at given half calls, and records facts that the program
 * itself cannot know.
 */
import { Account } from '../../../account/account.ts';
import { readBooks, type Books } from '../../../account/books.ts';
import type { WorldJob } from '../../../account/fake-world.ts';
import type { Behaviour } from '../../../fakes/fake-service.ts';
import { World } from '../../../fakes/world.ts';
import type { Scenario, Step } from './scenario.ts';

/** Observations during a walk. */
export interface Seen {
  world: World;
  /** Account that has seen the checkpoint after every run. */
  account: Account<WorldJob>;
  /** Checkpoint content after the latest run. */
  books: Books;
  /** Number of requested kills that happened. */
  deaths: number;
  /** Keys of the attempts whose intent was recorded but not confirmed when the program was killed. */
  intendedAtDeaths: Set<number>;
  /** Number of kills while this scene was being submitted or its result handled, by text of the scene. */
  inHandAtDeaths: Map<string, number>;
  /** Ending of each step. */
  endings: string[];
  /** Number of half calls that each step made in its latest run. */
  halves: number[];
  /** A sentence for each rule that was broken during the walk. */
  wrong: string[];
}

/**
 * The step to kill, and its half calls: the first one in the step itself, the others in the runs that resume
 * it.
 */
export interface Deaths {
  step: number;
  kills: number[];
}

const downMs = 1_000;
/**
 * Polls rarely, because killing the program at one of many consecutive polls of a job is as good as at
 * another.
 */
const polling = { lag: 0.05, shortest: 2_000, longest: 30_000 };

export type MakeWorld = (behaviour: Behaviour | undefined) => Promise<World>;

const onFile: MakeWorld = async (behaviour) => new World(behaviour);

export async function walk({ behaviour, steps }: Scenario, at?: Deaths, makeWorld = onFile): Promise<Seen> {
  const world = await makeWorld(behaviour);
  const seen: Seen = {
    world,
    account: new Account(),
    books: readBooks(world.db, 'text'),
    deaths: 0,
    intendedAtDeaths: new Set(),
    inHandAtDeaths: new Map(),
    endings: [],
    halves: [],
    wrong: [],
  };
  for (const [i, step] of steps.entries()) {
    await step.before?.(world);
    // The checkpoint was deleted, so the account begins anew too.
    if (world.rows('SELECT 1 FROM attempts LIMIT 1').length === 0) seen.account = new Account();
    await takeStep(seen, step, at?.step === i ? at.kills : []);
    seen.halves.push(world.killer.halves);
    const wrong = step.wrong?.(world, seen.deaths) ?? [];
    seen.wrong.push(...wrong.map((sentence) => `step ${i + 1}: ${sentence}`));
  }
  return seen;
}

async function takeStep(seen: Seen, step: Step, kills: number[]): Promise<void> {
  let { afterMs = 0 } = step;
  for (const killAt of kills) {
    const ending = await start(seen, step, afterMs, killAt);
    if (ending !== undefined) {
      // The step ended before it reached this half call.
      seen.endings.push(ending);
      return;
    }
    const isLeft = seen.world.killer.halves < killAt;
    noteDeath(seen);
    if (isLeft) {
      seen.endings.push('left');
      return;
    }
    seen.deaths += 1;
    afterMs = downMs;
    if (step.afterDeath === 'on') {
      seen.endings.push('died');
      return;
    }
  }
  const ending = await start(seen, step, afterMs);
  if (ending === undefined) noteDeath(seen);
  seen.endings.push(ending ?? 'left');
}

/** Runs the step and reads the checkpoint. Returns the ending, or undefined if the program was killed. */
async function start(seen: Seen, step: Step, afterMs: number, killAt?: number): Promise<string | undefined> {
  const ending = await command(seen, step, afterMs, killAt);
  // Writes that a killed program had already started still reach the disk.
  if (ending === undefined) await new Promise((resolve) => setImmediate(resolve));
  seen.books = readBooks(seen.world.db, 'text');
  seen.wrong.push(...seen.account.see(seen.books, step.what));
  return ending;
}

async function command(
  { world, wrong }: Seen,
  step: Step,
  afterMs: number,
  killAt?: number,
): Promise<string | undefined> {
  const options = {
    afterMs,
    ...(killAt !== undefined && { killAt }),
    settings: { polling, ...step.settings },
    ...(step.until !== undefined && { until: step.until }),
    ...(step.onEvent !== undefined && { onEvent: step.onEvent }),
  };
  switch (step.what) {
    case 'run': {
      if (step.manifest === undefined) throw new Error('a run needs a manifest');
      const asked = watchQuestions(world);
      const result = await world.run({ ...options, manifest: step.manifest });
      wrong.push(...asked());
      return result?.ending.kind;
    }
    case 'cancel':
      return (await world.cancel(options))?.ending.kind;
    case 'verify':
      return (await world.repair(options)) && 'repaired';
    case 'retry':
      return (
        (await world.putBack(step.choice ?? { kinds: 'every', ids: [], notAt: undefined }, options)) &&
        'put back'
      );
  }
}

/**
 * Watches the requests of a run. The returned function gives a sentence for each job in flight that was not
 * polled before the first submission. Jobs whose files are all written need no poll.
 */
function watchQuestions({ db, service, images }: World): () => string[] {
  const inFlight = db
    .prepare<[], { job_id: string; file: string | null }>(
      `SELECT job_id, json_extract(picture.value, '$.file') AS file
       FROM attempts LEFT JOIN json_each(writing, '$.pictures') AS picture WHERE state = 'submitted'`,
    )
    .all();
  const isUnwritten = ({ file }: { file: string | null }): boolean =>
    file === null || !images.files.has(file);
  const open = new Set(inFlight.filter(isUnwritten).map((row) => row.job_id));
  const from = service.log.length;
  return () => {
    const log = service.log.slice(from);
    const first = log.findIndex((line) => line.startsWith('submit'));
    if (first === -1) return [];
    const before = new Set(log.slice(0, first));
    return [...open]
      .filter((id) => !before.has(`status ${id}`) && !before.has(`kept ${id}`))
      .map((id) => `something was submitted before ${id} was asked for`);
  };
}

function noteDeath({ books, world, ...seen }: Seen): void {
  const intended = books.attempts.filter(({ state }) => state === 'intended');
  const marks = new Set(world.marks.map(({ attempt }) => attempt));
  const marked = books.attempts.filter(({ attempt }) => marks.has(attempt));
  for (const { attempt } of intended) seen.intendedAtDeaths.add(attempt);
  for (const scene of new Set([...intended, ...marked].map((row) => row.scene)))
    seen.inHandAtDeaths.set(scene, (seen.inHandAtDeaths.get(scene) ?? 0) + 1);
}
