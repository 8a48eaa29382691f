/**
 * Checks each start of a night, by the rules of the account and by facts that only the night knows: the faults of the
 * service, the settings, and what people did.
 */
import { endings } from '../../src/runner/core/ending.ts';
import { Account, type JobSeen, type Left } from '../account/account.ts';
import type { Attempt, Books, Scene } from '../account/books.ts';
import { readFolder, type Folder } from '../account/read-folder.ts';
import { retentionMs } from '../fakes/service-jobs.ts';
import type { Damaged } from './damages.ts';
import { goodScore, isAnswered, pictureOf, scoreOf, type NightJob } from './night-service.ts';
import { outOf, type Machine, type Outcome, type Start } from './start.ts';

/** Settings of a start that limit what it may do. */
export interface Terms {
  attempts: number;
  isHold: boolean;
  overdueMs: number;
  jobs: number | undefined;
  /** Value of `scene` that each scene of the list sends. */
  scenes: readonly string[];
  /** True if a seed is sent only if the seed before it brought no good picture. */
  isUntilGood: boolean;
}

interface SeenJob extends JobSeen {
  job: NightJob;
}

/** Number of results without output in one run after which the run no longer waits for late outputs. */
const maxEmptyInARow = 3;

export class NightRules {
  readonly #machine: Machine;
  #account = new Account<SeenJob>();
  /** Real ids of jobs by attempt, as long as the checkpoint has a damaged id instead. */
  readonly #damagedJobs = new Map<number, string>();
  /** Number of times that the checkpoint was given up and the batch began again. */
  begun = 0;
  /** Books that the start before has left. Undefined if a part was lost since. */
  #books: Books | undefined;
  /** Attempts whose answers were kept and recorded when this start began. */
  #kept = new Set<number>();
  /** Pixels of pictures by job. */
  readonly #pixels = new Map<string, string>();
  #beganAt = 0;
  #jobsBefore = 0;
  /** Highest number of failures of a scene that any start allowed. */
  #attempts = 0;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Records the state before the first start that is checked. */
  see(): void {
    const { books } = readNight(this.#machine);
    this.#books = books;
    this.#account = new Account(books);
  }

  begin(): void {
    this.#beganAt = this.#machine.now;
    this.#machine.service.begin(this.#machine.now);
    this.#jobsBefore = this.#machine.service.jobs.length;
  }

  touch(damaged: Damaged): void {
    const { job } = damaged;
    if (job !== undefined && !this.#damagedJobs.has(job.attempt)) this.#damagedJobs.set(job.attempt, job.id);
    this.#account.touch(damaged);
  }

  /** Records that the folder was restored from a copy made before the latest damage. */
  undo(): void {
    const { pictures, books } = readNight(this.#machine);
    for (const { attempt, job_id } of books?.attempts ?? [])
      if (this.#damagedJobs.get(attempt) === job_id) this.#damagedJobs.delete(attempt);
    this.#account.undo(pictures);
  }

  acceptLoss(): void {
    this.#account.acceptLoss();
    // Without its record, an answer that names this job looks like a good answer. So its polls no longer count.
    for (const job of this.#machine.service.jobs) job.polls = 0;
    this.#books = undefined;
  }

  /** Records that the whole checkpoint is given up. */
  letGo(): void {
    this.acceptLoss();
    this.begun += 1;
  }

  judge(asked: Start, outcome: Outcome, terms: Terms, folder: Folder): string[] {
    this.#attempts = Math.max(this.#attempts, terms.attempts);
    if (outcome.kind === 'bug') return [`${asked.what} ended as a bug: ${outcome.words}`];
    if (asked.what === 'verify' && /is repaired|accepted as it is/.test(outcome.words)) {
      this.acceptLoss();
      this.#damagedJobs.clear();
    }
    const made = this.#machine.service.jobs.length - this.#jobsBefore;
    if (outcome.kind === 'refused' && made > 0) return [`${made} jobs were made by a start that was refused`];
    // A start that asks about the list or the pictures has already collected jobs in flight.
    const isAsked = /no longer in the list|that the checkpoint does not know/.test(outcome.words);
    if (outcome.kind === 'refused' && !isAsked) return [];
    if (folder.books === undefined)
      return outcome.kind === 'died' ? [] : ['the checkpoint cannot be read after a start'];
    const books = this.#undamaged(folder.books);
    const isComplete = asked.what === 'run' && outcome.exitCode === 0;
    const wrong = [
      ...this.#account.judge(this.#left({ ...folder, books }), {
        command: asked.what,
        end: isComplete ? 'over' : outcome.kind === 'died' ? 'died' : 'ended',
        attempts: this.#attempts,
        isHold: terms.isHold,
        fatesOf: this.#fatesIn(asked.what, books, terms),
      }),
      ...this.#wrongBudget(made, terms),
      ...(asked.what === 'run' && terms.isUntilGood ? this.#wrongSeeds(books) : []),
      ...(isComplete ? this.#incomplete(books, terms) : []),
      ...this.#wrongRefusal(outcome),
    ];
    this.#books = books;
    const held = books.attempts.filter(
      (row) => row.state === 'submitted' && row.answer?.includes('@') && folder.keptAnswers.has(row.attempt),
    );
    this.#kept = new Set(held.map(({ attempt }) => attempt));
    return wrong;
  }

  #left({ books, pictures, keptAnswers }: Folder & { books: Books }): Left<SeenJob> {
    const { jobs, unansweredWithoutJob } = this.#machine.service;
    const seen = (job: NightJob): SeenJob => ({
      id: job.id,
      scene: job.plan.fingerprint,
      isNamed: isAnswered(job),
      polls: job.polls,
      made: [this.#pixelsOf(job)],
      job,
    });
    return {
      jobs: jobs.map(seen),
      emptySubmissions: unansweredWithoutJob,
      books,
      // The JSON files beside pictures are in no record.
      pictures: new Map([...pictures].filter(([file]) => !file.endsWith('.json'))),
      keptAnswers,
    };
  }

  /** Returns the pixels of the job's picture, which is drawn only once because every start asks for it. */
  #pixelsOf({ id }: NightJob): string {
    const pixels = this.#pixels.get(id) ?? pixelsOf(pictureOf(id));
    this.#pixels.set(id, pixels);
    return pixels;
  }

  /** Returns the books with real job ids in place of damaged ones, as long as these attempts are not settled. */
  #undamaged(books: Books): Books {
    const attempts = books.attempts.map((row) => {
      const own = this.#damagedJobs.get(row.attempt);
      return own !== undefined && row.state === 'submitted' ? { ...row, job_id: own } : row;
    });
    return { ...books, attempts };
  }

  #fatesIn(what: Start['what'], books: Books, { overdueMs }: Terms) {
    const empty = (of: Books | undefined): number =>
      of?.attempts.filter(({ kind }) => kind === 'no-output').length ?? 0;
    // The program stops waiting for outputs of a service whose first answers never have one.
    const isLateLost = empty(books) - empty(this.#books) > maxEmptyInARow;
    return ({ job }: SeenJob, row: Attempt): string[] => {
      const { now, service } = this.#machine;
      const { plan, completesAt, submittedAt, isCancelled } = job;
      if (row.kind === 'given-up' && what === 'retry') return ['expired given-up'];
      if (row.kind === 'quarantined') return ['failed quarantined'];
      const fates: string[] = [];
      // If the endpoint is gone, the program gives up one job to find out.
      const isKept = this.#kept.has(row.attempt) && plan.end === 'picture';
      if (!isKept && (now >= completesAt + retentionMs || service.weather.isGone))
        fates.push('expired expired');
      if (isCancelled) fates.push('failed job-cancelled', 'failed cancelled');
      // Two submissions got this id, so the program cannot know to which scene its picture belongs.
      if (plan.isShared === true) fates.push('expired unanswered');
      // The service also agrees to cancel a job that has ended.
      if (what === 'cancel' && now >= completesAt) fates.push('failed cancelled');
      // A job whose status cannot be read gets the time of queue and execution together, over all runs.
      const isOld = now - submittedAt >= 2 * overdueMs;
      if (isOld || now - Math.max(this.#beganAt, submittedAt) >= overdueMs) fates.push('failed job-overdue');
      if (now >= completesAt && !isCancelled)
        fates.push(plan.end === 'picture' ? 'saved' : `failed ${plan.end}`);
      if (isLateLost && plan.emptyAnswers !== 0) fates.push('failed no-output');
      return fates;
    };
  }

  /**
   * Checks that the run ends because of a refusal only if no request worked before, or after three refusals over 30
   * seconds.
   */
  #wrongRefusal({ exitCode, words }: Outcome): string[] {
    if (exitCode !== endings['not-allowed'].exitCode) return [];
    const { refusals } = this.#machine.service;
    const lastedMs = (refusals.at(-1)?.at ?? 0) - (refusals[0]?.at ?? 0);
    const isCertain =
      refusals.some(({ hadWorked }) => !hadWorked) || (refusals.length >= 3 && lastedMs >= 30_000);
    return isCertain ? [] : [`${refusals.length} refusals in ${lastedMs} ms were believed: ${words}`];
  }

  #wrongBudget(made: number, { jobs: limit }: Terms): string[] {
    const before = this.#account.isLossAccepted ? 0 : this.#jobsBefore;
    if (limit === undefined || made <= Math.max(0, limit - before)) return [];
    return [`${made} jobs were made after ${this.#jobsBefore}, with \`limits.jobs\` of ${limit}`];
  }

  /** Checks that nothing is sent for a row that had a good seed before this start. */
  #wrongSeeds({ attempts, scenes }: Books): string[] {
    if (this.#books === undefined) return [];
    const before = this.#books;
    // A picture that was adopted by its name has no score.
    const told = new Set(before.attempts.filter(({ job_id: id }) => id !== null).map(({ scene }) => scene));
    const rowOf = ({ id, input }: Scene): string =>
      `${id.replace(/-s\d+$/, '')} ${sceneOf(JSON.parse(input))}`;
    const good = new Map(
      before.scenes
        .filter(({ state, scene }) => state === 'saved' && scoreOf(scene) >= goodScore && told.has(scene))
        .map((scene) => [rowOf(scene), scene.id]),
    );
    const known = new Set(before.attempts.map(({ scene }) => scene));
    const sent = new Set(attempts.map(({ scene }) => scene).filter((each) => !known.has(each)));
    return scenes
      .filter((scene) => sent.has(scene.scene) && good.has(rowOf(scene)))
      .map((scene) => `${scene.id} was sent, and ${good.get(rowOf(scene))} was good before`);
  }

  /** Checks that exactly the scenes of the list are saved. */
  #incomplete({ scenes }: Books, terms: Terms): string[] {
    const saved = scenes.filter(({ state }) => state === 'saved');
    // The stored input of a saved scene may be damaged, which is harmless because it is never sent again.
    const inputs = new Map(this.#machine.service.jobs.map((job) => [job.plan.fingerprint, job.input]));
    const sent = saved.map((row) => sceneOf(inputs.get(row.scene) ?? JSON.parse(row.input))).toSorted();
    const wanted = terms.isUntilGood ? neededOf(saved, sent, terms) : terms.scenes.toSorted();
    return sent.join('\n') === wanted.join('\n')
      ? []
      : [`complete with ${sent.length} scenes saved of ${terms.scenes.length}`];
  }
}

/** Returns the scenes that must be saved: the saved seeds of rows with a good one, and all seeds of other rows. */
function neededOf(saved: readonly Scene[], sent: readonly string[], { scenes }: Terms): string[] {
  const good = new Set(
    saved.filter(({ scene }) => scoreOf(scene) >= goodScore).map(({ input }) => sceneOf(JSON.parse(input))),
  );
  const without = scenes.filter((scene) => !good.has(scene));
  return [...without, ...sent.filter((scene) => good.has(scene) && scenes.includes(scene))].toSorted();
}

export function readNight(machine: Machine): Folder {
  return readFolder(outOf(machine), 'fingerprint', pixelsOf);
}

/** Returns the part of a PNG that contains its pixels, without texts before it. */
function pixelsOf(png: Buffer): string {
  return png.subarray(Math.max(0, png.indexOf('IDAT'))).toString('base64');
}

function sceneOf(input: unknown): string {
  return String((input as { scene?: unknown }).scene);
}
