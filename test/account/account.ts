/**
 * The account of a batch compares its books (the records in the checkpoint) and its pictures with the jobs that the
 * service has seen. It returns a sentence for every difference. Without a difference, nothing was lost, wrong, or
 * billed without being reported. The fake world, the simulated nights and the built program use the same rules.
 */
import { noBooks, type Attempt, type Books, type Scene } from './books.ts';

/** A job as the service saw it; one job is one bill. */
export interface JobSeen {
  id: string;
  /** Key of its scene, as in `Books`. */
  scene: string;
  /** True if its submission was answered with its id. */
  isNamed: boolean;
  /** Number of requests for its status. */
  polls: number;
  /** `PictureSeen.made` of each file that the job made, in order. */
  made: readonly string[];
}

/** A file in the folder of pictures. */
export interface PictureSeen {
  /** The part of the contents that only this job makes. */
  made: string;
  sha256: string;
  bytes: number;
}

/** State that a start of the program, or a whole night, has left behind. */
export interface Left<Job extends JobSeen> {
  jobs: readonly Job[];
  /** Scenes of submissions that neither created a job nor got an answer. */
  emptySubmissions?: readonly string[];
  books: Books;
  /** Files by path in the folder of pictures. */
  pictures: ReadonlyMap<string, PictureSeen>;
  /** Attempts for which an answer of the service is kept. */
  keptAnswers?: ReadonlySet<number>;
}

export interface Terms<Job extends JobSeen> {
  command: string;
  /** `over` means that nothing is left to do: every scene of the list is settled. */
  end: 'died' | 'ended' | 'over';
  /** Returns what the books may say of an attempt that was settled with this job, such as `saved` or `failed job-failed`. */
  fatesOf: (job: Job, attempt: Attempt) => readonly string[];
  /** Highest number of failures of a scene that any start has allowed so far. */
  attempts: number;
  /** True if a submission without an answer waits for a person to decide. */
  isHold?: boolean;
}

/** Changes that somebody else made to files between two starts. */
export interface Touched {
  /** Paths in the folder of pictures. */
  pictures: readonly string[];
  /** SHA-256 of a file that somebody else added. The program must keep it. */
  stranger?: string;
}

const isOpen = ({ state }: Attempt): boolean => state === 'intended' || state === 'submitted';
const isDeclared = ({ state, job_id }: Attempt): boolean =>
  job_id === null && (state === 'unanswered' || state === 'intended');
/** Matches files that were set aside. Their names are in no record. */
const setAside = /\.(?:damaged|former|kept)(?:-\d+)?$/;

export class Account<Job extends JobSeen = JobSeen> {
  /**
   * The latest books. Undefined if a part was lost since. The account then accepts the next books without comparing
   * them.
   */
  #books: Books | undefined;
  /** Attempts whose final states were checked. */
  readonly #judged = new Set<number>();
  /**
   * Scenes that a person put back with `retry` or `verify`, each with the number of its latest attempt at that moment.
   */
  readonly #putBack = new Set<string>();
  #isLossAccepted = false;
  /** Files that somebody else changed or added, and jobs whose pictures these files were. */
  readonly #touched = new Set<string>();
  readonly #touchedJobs = new Set<string>();
  #strangers: string[] = [];

  /** The account never checks final states that `books` already has. */
  constructor(books: Books | undefined = noBooks) {
    this.#books = books;
    this.#settledSince(books);
  }

  /**
   * Accepts new books without a full check. Returns a sentence for each settled attempt that was changed or removed.
   */
  see(books: Books, command = ''): string[] {
    const wrong = this.#wrongHistory(books);
    this.#books = books;
    if (command !== 'retry' && command !== 'verify') return wrong;
    // A scene that is put back may wait for an earlier seed that is put back as well.
    const waiting = new Set(
      books.scenes.filter(({ state }) => state === 'waiting' || state === 'unneeded').map(rowOf),
    );
    for (const row of books.attempts)
      if (waiting.has(rowOf(row))) this.#putBack.add(`${rowOf(row)} ${row.number}`);
    return wrong;
  }

  /** Records that somebody else changed, removed or added files. */
  touch({ pictures, stranger }: Touched): void {
    if (stranger !== undefined) this.#strangers.push(stranger);
    else if (pictures.length > 0) this.#strangers = [];
    for (const file of pictures) {
      this.#touched.add(file);
      const own = this.#books?.pictures.find(({ file: name, move_to: to }) => name === file || to === file);
      if (own !== undefined && own.job_id !== null) this.#touchedJobs.add(own.job_id);
    }
  }

  /** Records that the folder was restored from a copy made before the latest damage. */
  undo(pictures: Left<Job>['pictures']): void {
    const there = new Set([...pictures.values()].map(({ sha256 }) => sha256));
    this.#strangers = this.#strangers.filter((sha256) => there.has(sha256));
  }

  /** Records that a person accepts the loss of a part of the books. */
  acceptLoss(): void {
    this.#isLossAccepted = true;
    this.#books = undefined;
  }

  get isLossAccepted(): boolean {
    return this.#isLossAccepted;
  }

  judge(left: Left<Job>, terms: Terms<Job>): string[] {
    const fresh = this.#settledSince(left.books);
    return [
      ...this.see(left.books, terms.command),
      ...this.#wrongJobs(left),
      ...wrongEnds(left, fresh, terms),
      ...(terms.isHold === true ? wrongHolds(left, fresh, terms) : []),
      ...this.#wrongRepeats(left, terms),
      ...this.#wrongPictures(left, terms),
      ...(terms.end === 'died' ? [] : this.#unknownFiles(left, terms)),
      ...(terms.end === 'died' || terms.command !== 'run' ? [] : keptInVain(left)),
      ...(terms.end === 'over' ? unfinished(left) : []),
    ];
  }

  #settledSince({ attempts }: Books): Attempt[] {
    const settled = attempts.filter((row) => !isOpen(row) && !this.#judged.has(row.attempt));
    for (const { attempt } of settled) this.#judged.add(attempt);
    return this.#books === undefined ? [] : settled;
  }

  /**
   * Returns a sentence for each settled attempt that was changed, and for each attempt that was removed from the books.
   */
  #wrongHistory({ attempts }: Books): string[] {
    const now = new Map(attempts.map((row) => [row.attempt, row]));
    return (this.#books?.attempts ?? []).flatMap((was) => {
      const is = now.get(was.attempt);
      if (is === undefined) return [`attempt ${was.attempt} is on record no more`];
      const isKept = is.state === was.state && is.kind === was.kind && is.job_id === was.job_id;
      if (!isOpen(was) && !isKept) return [`attempt ${was.attempt} was ${was.state} and is ${is.state}`];
      return was.job_id !== null && is.job_id !== was.job_id
        ? [`attempt ${was.attempt} has another job`]
        : [];
    });
  }

  /**
   * Checks that every job is recorded once for its scene, or covered by a lost submission that the books report. Also
   * checks that no recorded job is invented.
   */
  #wrongJobs({ jobs, emptySubmissions = [], books }: Left<Job>): string[] {
    const { attempts, lost } = books;
    const idOf = idsOf(books);
    const known = new Map(attempts.map((attempt) => [attempt.job_id, attempt]));
    const wrong: string[] = [];
    const orphans = jobs.filter((job) => {
      const attempt = known.get(job.id);
      if (attempt !== undefined && attempt.scene !== job.scene)
        wrong.push(`${job.id} of ${idOf(job.scene)} is on record for ${idOf(attempt.scene)}`);
      return attempt === undefined;
    });
    const told = countBy(attempts.filter(isDeclared), ({ scene }) => scene);
    const needed = countBy([...orphans.map(({ scene }) => scene), ...emptySubmissions], (scene) => scene);
    const undeclared = [...needed].map(
      ([scene, count]) => [scene, count - (told.get(scene) ?? 0)] as [string, number],
    );
    const more = undeclared.filter(([, count]) => count > 0);
    // An adopted picture is no longer counted as lost. By its name it may belong to another scene.
    const adopted = attempts.filter(({ state, job_id: id }) => state === 'saved' && id === null).length;
    if (more.reduce((sum, [, count]) => sum + count, 0) > lost + adopted)
      wrong.push(
        `submissions on no record: ${more.map(([scene, count]) => `${count} of ${idOf(scene)}`).join(', ')}; ${lost} are declared as lost`,
      );
    if (!this.#isLossAccepted)
      for (const { id, isNamed, polls } of orphans)
        if (isNamed && polls > 0) wrong.push(`${id} was asked for before it was on record`);
    const made = new Set(jobs.map(({ id }) => id));
    for (const row of attempts) {
      if (row.job_id === null) continue;
      if (!made.has(row.job_id)) wrong.push(`${row.job_id} is no job of the service`);
      if (known.get(row.job_id) !== row) wrong.push(`${row.job_id} belongs to two attempts`);
    }
    return wrong;
  }

  /**
   * Checks that a scene is sent again only if its last attempt ended without a picture, and no more often than allowed.
   */
  #wrongRepeats({ books }: Left<Job>, { attempts: most }: Terms<Job>): string[] {
    const wrong: string[] = [];
    const latest = new Map<string, Attempt>();
    const failed = new Map<string, number>();
    for (const row of books.attempts) {
      const { id, number } = row;
      const scene = rowOf(row);
      const before = latest.get(scene);
      const isPutBack = before !== undefined && this.#putBack.has(`${scene} ${before.number}`);
      if (isPutBack) failed.set(scene, 0);
      const failures = failed.get(scene) ?? 0;
      if (before !== undefined && !isPutBack && (isOpen(before) || before.state === 'saved'))
        wrong.push(`attempt ${row.attempt} of ${id} follows one that is ${before.state}`);
      if (failures >= most)
        wrong.push(`attempt ${row.attempt} (${number}) of ${id} follows ${failures} that failed`);
      latest.set(scene, row);
      if (row.state === 'failed' && row.kind !== 'cancelled') failed.set(scene, failures + 1);
    }
    return wrong;
  }

  /**
   * Checks that every recorded picture exists and was made by the recorded job, and that no picture of that job is
   * missing.
   */
  #wrongPictures({ jobs, books, pictures }: Left<Job>, { end }: Terms<Job>): string[] {
    const made = new Map(jobs.map((job) => [job.id, job.made]));
    const own = books.pictures.filter(({ job_id }) => job_id !== null && !this.#touchedJobs.has(job_id));
    const counts = countBy(own, ({ job_id }) => String(job_id));
    const saved = new Set(books.attempts.filter(({ state }) => state === 'saved').map((row) => row.attempt));
    const halves = [...counts].filter(([id, count]) => count !== made.get(id)?.length);
    const wrong = own.flatMap((row) => {
      const { job_id, number, file } = row;
      if (!saved.has(row.attempt)) return [`${file} is of ${job_id}, whose attempt is not saved`];
      // An older record does not know that the picture was set aside later.
      if (this.#isLossAccepted && pictures.has(`${file}.former`)) return [];
      const names = end === 'over' ? [file] : [file, row.move_to ?? file];
      const there = names.flatMap((name) => pictures.get(name) ?? []);
      if (there.length === 0) return [`${file} is on record and not there`];
      const same = there.filter((picture) => picture.made === made.get(job_id ?? '')?.[number - 1]);
      if (same.length === 0) return [`${file} is not the picture of ${job_id}`];
      return same.some(({ sha256 }) => sha256 === row.sha256)
        ? []
        : [`${file} is not what the books say was written`];
    });
    const there = new Set([...pictures.values()].map(({ sha256 }) => sha256));
    const gone = this.#strangers.filter((sha256) => !there.has(sha256));
    return [
      ...wrong,
      ...halves.map(([id, count]) => `${count} files of ${id} are on record, which is not all`),
      ...gone.map(() => "a stranger's file is gone"),
    ];
  }

  /** Checks that no unrecorded file exists, unless it is being written or a crashed run has left it. */
  #unknownFiles({ jobs, books: { attempts, pictures: rows }, pictures }: Left<Job>, { end }: Terms<Job>) {
    // If a person gives up a job, the next start removes the file that was being written for it.
    const isWriting = attempts.some(({ state, kind }) => state === 'submitted' || kind === 'given-up');
    if (this.#isLossAccepted || (end !== 'over' && isWriting)) return [];
    // The last crash before a scene was quarantined may have happened between writing its picture and recording it.
    const quarantined = new Set(
      attempts.filter(({ kind }) => kind === 'quarantined').map(({ job_id }) => job_id),
    );
    const explained = new Set(jobs.filter(({ id }) => quarantined.has(id)).flatMap(({ made }) => made));
    const known = new Set(rows.flatMap(({ file, move_to: to }) => [file, to ?? file]));
    return [...pictures]
      .filter(([file, { made }]) => !known.has(file) && !setAside.test(file) && !explained.has(made))
      .filter(([file]) => !this.#touched.has(file))
      .map(([file]) => `${file} is on no record`);
  }
}

/** Checks that every newly settled attempt ended as its job did. */
function wrongEnds<Job extends JobSeen>(
  { jobs, books }: Left<Job>,
  settled: Attempt[],
  { fatesOf }: Terms<Job>,
): string[] {
  const seen = new Map(jobs.map((job) => [job.id, job]));
  const idOf = idsOf(books);
  return settled.flatMap((row) => {
    const job = seen.get(row.job_id ?? '');
    if (job === undefined) return [];
    const is = row.kind === null ? row.state : `${row.state} ${row.kind}`;
    const should = fatesOf(job, row);
    if (should.includes(is)) return [];
    return [`${job.id} of ${idOf(job.scene)} is ${is}, not ${should.join(' or ') || 'settled yet'}`];
  });
}

function wrongHolds<Job extends JobSeen>(
  { books: { attempts, scenes } }: Left<Job>,
  settled: Attempt[],
  { command }: Terms<Job>,
): string[] {
  return settled.flatMap((row) => {
    const isGivenUp = command === 'retry' && row.kind === 'given-up';
    if (row.job_id !== null || row.state !== 'unanswered' || isGivenUp) return [];
    const isSame = (other: Attempt | Scene): boolean => rowOf(other) === rowOf(row);
    const again = attempts.some((other) => isSame(other) && other.number > row.number);
    const waits = scenes.some((other) => isSame(other) && other.state === 'waiting');
    return again || waits ? [`an unanswered submission is not held, attempt ${row.attempt}`] : [];
  });
}

/** Checks that answers are kept only for jobs in flight. */
function keptInVain({ books, keptAnswers = new Set() }: Left<JobSeen>): string[] {
  const open = new Set(books.attempts.filter(isOpen).map(({ attempt }) => attempt));
  return [...keptAnswers]
    .filter((attempt) => !open.has(attempt))
    .map((attempt) => `the answer of attempt ${attempt} is still kept`);
}

/** Checks that at the end no attempt is open, and every saved scene has complete pictures in the books and on disk. */
function unfinished({ books, pictures }: Left<JobSeen>): string[] {
  const open = books.attempts.filter(isOpen);
  const saved = books.scenes.filter(({ state }) => state === 'saved');
  const ended = new Set(saved.map(rowOf));
  const files = books.pictures.filter((row) => ended.has(rowOf(row)));
  const pictured = new Set(files.map(rowOf));
  return [
    ...open.map(({ attempt, state }) => `at the end attempt ${attempt} is ${state}`),
    ...saved.filter((row) => !pictured.has(rowOf(row))).map(({ id }) => `${id} is saved without a picture`),
    ...files
      .filter(({ file, bytes }) => pictures.get(file)?.bytes !== bytes)
      .map(({ file }) => `at the end ${file} is not there as a whole`),
  ];
}

/** Returns the key of a scene: the id of its row, and what the row sends. */
function rowOf({ id, scene }: { id: string; scene: string }): string {
  return `${id} ${scene}`;
}

/** Returns a function from the key of a scene to the id that a person knows. */
function idsOf({ scenes }: Books): (scene: string) => string {
  const ids = new Map(scenes.map(({ scene, id }) => [scene, id]));
  return (scene) => ids.get(scene) ?? scene;
}

export function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
