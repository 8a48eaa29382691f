/** Holds what a batch folder says against the service's own account, start after start; every difference is a sentence. */
import { existsSync } from 'node:fs';
import { endings } from '../../src/runner/core/ending.ts';
import type { Damaged } from './damages.ts';
import { pixelsOf, type AttemptRow, type Folder, type FolderState, type SceneRow } from './folder-state.ts';
import { retentionMs } from '../fakes/service-jobs.ts';
import { goodScore, isAnswered, pictureOf, scoreOf, type NightJob } from './night-service.ts';
import { outOf, type Machine, type Outcome, type Start } from './start.ts';

/** What a start was told, as far as it bears on what it may do. */
export interface Terms {
  attempts: number;
  isHold: boolean;
  overdueMs: number;
  jobs: number | undefined;
  /** The rows of the list, by what they send. */
  scenes: readonly string[];
  /** Whether a seed is sent only where the one before it is not good. */
  isUntilGood: boolean;
}

/** Submissions whose job is not known. */
const maxEmptyInARow = 3;
const declared = new Set(['unanswered', 'intended']);
const isOpen = ({ state }: AttemptRow): boolean => state === 'intended' || state === 'submitted';

export class Account {
  readonly #machine: Machine;
  /** Files that somebody else changed or put there, and the jobs whose pictures they were. */
  readonly #touched = new Set<string>();
  readonly #touchedJobs = new Set<string>();
  /** Other people's files, which are theirs. */
  #strangers: Buffer[] = [];
  /** How often the batch was begun anew. */
  begun = 0;
  #before: FolderState | undefined;
  /** Attempts whose answers were kept, and on record, when this start began. */
  #kept = new Set<number>();
  /** What a letter was changed in, by the attempt, while it stands there. */
  readonly #damagedJobs = new Map<number, string>();
  #isLossAccepted = false;
  /** The most attempts that any start allowed. */
  #attempts = 0;
  /** Scenes that a person put back, with the number of their latest attempt then. */
  readonly #putBack = new Set<string>();
  #beganAt = 0;
  #jobsBefore = 0;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** What is there before the first start that is judged. */
  see({ state }: Folder): void {
    this.#before = state;
  }

  begin(): void {
    this.#beganAt = this.#machine.now;
    this.#machine.service.begin(this.#machine.now);
    this.#jobsBefore = this.#machine.service.jobs.length;
  }

  /** Somebody changes, removes or puts down these files in the folder of pictures. */
  touch({ pictures, stranger, job }: Damaged): void {
    if (job !== undefined && !this.#damagedJobs.has(job.attempt)) this.#damagedJobs.set(job.attempt, job.id);
    if (stranger !== undefined) this.#strangers.push(stranger);
    else if (pictures.length > 0) this.#strangers = [];
    for (const file of pictures) {
      this.#touched.add(file);
      const own = this.#before?.pictures.find(({ file: name, move_to: to }) => name === file || to === file);
      if (own !== undefined && own.job_id !== null) this.#touchedJobs.add(own.job_id);
    }
  }

  /** A copy of the folder as it was before the latest damage is there again. */
  undamage({ files, state }: Folder): void {
    for (const { attempt, job_id } of state?.attempts ?? [])
      if (this.#damagedJobs.get(attempt) === job_id) this.#damagedJobs.delete(attempt);
    const isThere = (own: Buffer): boolean => [...files.values()].some((bytes) => bytes.equals(own));
    this.#strangers = this.#strangers.filter(isThere);
  }

  /** The loss of a part of what was on record is accepted by option: what it says from now on is all that is known. */
  acceptLoss(): void {
    this.#isLossAccepted = true;
    // An answer that names a job whose record is lost could not be told from a good one.
    for (const job of this.#machine.service.jobs) job.polls = 0;
    this.#before = undefined;
  }

  /** The checkpoint is given up as a whole. */
  letGo(): void {
    this.acceptLoss();
    this.begun += 1;
  }

  /** What is wrong after a start. */
  judge(asked: Start, outcome: Outcome, terms: Terms, { state: read, files, kept }: Folder): string[] {
    const state = read && this.#undamaged(read);
    if (outcome.kind === 'bug') return [`${asked.what} ended as a bug: ${outcome.words}`];
    if (asked.what === 'verify' && /is repaired|accepted as it is/.test(outcome.words)) {
      this.acceptLoss();
      this.#damagedJobs.clear();
    }
    this.#attempts = Math.max(this.#attempts, terms.attempts);
    const out = outOf(this.#machine);
    const made = this.#machine.service.jobs.length - this.#jobsBefore;
    if (outcome.kind === 'refused' && made > 0) return [`${made} jobs were made by a start that was refused`];
    // Who is asked about the list or the pictures has what was in flight collected.
    const isAsked = /no longer in the list|that the checkpoint does not know/.test(outcome.words);
    if (outcome.kind === 'refused' && !isAsked) return [];
    if (state === undefined) {
      const isNew = outcome.kind === 'died' && made === 0 && !existsSync(`${out}/checkpoint.sqlite`);
      return isNew || outcome.kind === 'died' ? [] : ['the checkpoint cannot be read after a start'];
    }
    this.#notePutBack(asked, state);
    const isDead = outcome.kind === 'died';
    const wrong = [
      ...this.#wrongJobs(state),
      ...this.#wrongFates(asked, state, terms),
      ...this.#wrongHistory(state),
      ...this.#wrongRepeats(state),
      ...this.#wrongBudget(terms),
      ...this.#wrongPictures(state, files, isDead),
      ...(asked.what === 'run' && terms.isUntilGood ? this.#wrongSeeds(state) : []),
      ...(outcome.exitCode === 0 && asked.what === 'run' ? this.#wrongComplete(state, files, terms) : []),
      ...this.#wrongRefusal(outcome),
      ...(asked.what === 'run' && outcome.kind === 'ended' ? this.#wrongKept(state, kept) : []),
    ];
    this.#before = state;
    const held = state.attempts.filter(
      (row) => isOpen(row) && row.answer?.includes('@') && kept.has(row.attempt),
    );
    this.#kept = new Set(held.map(({ attempt }) => attempt));
    return wrong;
  }

  /** Until something is made of it, a damaged id says nothing of the program. */
  #undamaged(state: FolderState): FolderState {
    const attempts = state.attempts.map((row) => {
      const own = this.#damagedJobs.get(row.attempt);
      return own !== undefined && row.state === 'submitted' ? { ...row, job_id: own } : row;
    });
    return { ...state, attempts };
  }

  /** A person's command has the scene rendered again: what came before counts no more. */
  #notePutBack({ what }: Start, { scenes, attempts }: FolderState): void {
    if (what !== 'retry' && what !== 'verify') return;
    const waiting = new Set(
      // One that is put back may be held behind an earlier seed that is, too.
      scenes
        .filter(({ state }) => state === 'waiting' || state === 'unneeded')
        .map(({ fingerprint }) => fingerprint),
    );
    for (const { fingerprint, number } of attempts)
      if (waiting.has(fingerprint)) this.#putBack.add(`${fingerprint} ${number}`);
  }

  /** Every job is on record for the scene that it was made for, or covered by what is declared; and none is invented. */
  #wrongJobs({ attempts, lost }: FolderState): string[] {
    const { jobs, unansweredWithoutJob } = this.#machine.service;
    const known = new Map(attempts.map((attempt) => [attempt.job_id, attempt]));
    const wrong: string[] = [];
    const orphans = jobs.filter((job) => {
      const attempt = known.get(job.id);
      if (attempt !== undefined && attempt.fingerprint !== job.plan.fingerprint)
        wrong.push(`${job.id} is on record for another scene`);
      return attempt === undefined;
    });
    const needed = countBy([...orphans.map(({ plan }) => plan.fingerprint), ...unansweredWithoutJob]);
    const told = countBy(attempts.filter(({ state }) => declared.has(state)).map((row) => row.fingerprint));
    let undeclared = 0;
    for (const [fingerprint, count] of needed)
      undeclared += Math.max(0, count - (told.get(fingerprint) ?? 0));
    // What is adopted is counted as lost no more; by its name it may be another scene's.
    const adopted = attempts.filter(({ state, job_id: id }) => state === 'saved' && id === null).length;
    if (undeclared > lost + adopted)
      wrong.push(`${undeclared} submissions are on no record, and ${lost} are declared as lost`);
    if (!this.#isLossAccepted)
      for (const job of orphans)
        if (isAnswered(job) && job.polls > 0) wrong.push(`${job.id} was asked for before it was on record`);
    const made = new Set(jobs.map(({ id }) => id));
    for (const { job_id } of attempts)
      if (job_id !== null && !made.has(job_id)) wrong.push(`${job_id} is no job of the service`);
    return wrong;
  }

  /** What was settled in this start ended as its job did. */
  #wrongFates({ what }: Start, { attempts, scenes }: FolderState, terms: Terms): string[] {
    const before = new Map(this.#before?.attempts.map((row) => [row.attempt, row]));
    const jobs = new Map(this.#machine.service.jobs.map((job) => [job.id, job]));
    const fresh = attempts.filter((row) => {
      const was = before.get(row.attempt);
      return !isOpen(row) && (was === undefined ? this.#before !== undefined : isOpen(was));
    });
    // A service that never has an output at the first answer is not waited for.
    const isLateLost = fresh.filter(({ kind }) => kind === 'no-output').length > maxEmptyInARow;
    return fresh.flatMap((row) => {
      const job = jobs.get(row.job_id ?? '');
      const isGivenUp = what === 'retry' && row.kind === 'given-up';
      if (job === undefined) return terms.isHold && !isGivenUp ? this.#wrongHold(row, attempts, scenes) : [];
      const is = row.kind === null ? row.state : `${row.state} ${row.kind}`;
      const should = this.#fates(what, job, row, terms);
      if (isLateLost && job.plan.emptyAnswers !== 0) should.push('failed no-output');
      return should.includes(is) ? [] : [`${job.id} is ${is}, not ${should.join(' or ')}`];
    });
  }

  #wrongHold(row: AttemptRow, attempts: AttemptRow[], scenes: FolderState['scenes']): string[] {
    if (row.state !== 'unanswered') return [];
    const again = attempts.some(
      ({ fingerprint, number }) => fingerprint === row.fingerprint && number > row.number,
    );
    const waits = scenes.some(
      ({ fingerprint, state }) => fingerprint === row.fingerprint && state === 'waiting',
    );
    return again || waits ? [`an unanswered submission is not held, attempt ${row.attempt}`] : [];
  }

  #fates(what: Start['what'], job: NightJob, row: AttemptRow, { overdueMs }: Terms): string[] {
    const now = this.#machine.now;
    const fates: string[] = [];
    if (row.kind === 'given-up' && what === 'retry') return ['expired given-up'];
    if (row.kind === 'quarantined') return ['failed quarantined'];
    // Of an endpoint that is gone, one job is given up to find out.
    const isKept = this.#kept.has(row.attempt) && job.plan.end === 'picture';
    if (!isKept && (now >= job.completesAt + retentionMs || this.#machine.service.weather.isGone))
      fates.push('expired expired');
    if (job.isCancelled) fates.push('failed job-cancelled', 'failed cancelled');
    // Whose picture it would bring, nobody can tell.
    if (job.plan.isShared === true) fates.push('expired unanswered');
    // The service agrees to cancel what has ended already.
    if (what === 'cancel' && now >= job.completesAt) fates.push('failed cancelled');
    // What cannot be read has the time of queue and execution, over all runs.
    const isOld = now - job.submittedAt >= 2 * overdueMs;
    if (isOld || now - Math.max(this.#beganAt, job.submittedAt) >= overdueMs)
      fates.push('failed job-overdue');
    if (now >= job.completesAt && !job.isCancelled)
      fates.push(job.plan.end === 'picture' ? 'saved' : `failed ${job.plan.end}`);
    return fates;
  }

  /** Whoever was let in before is believed to be refused by the third time, in half a minute. */
  #wrongRefusal({ exitCode, words }: Outcome): string[] {
    if (exitCode !== endings['not-allowed'].exitCode) return [];
    const { refusals } = this.#machine.service;
    const lastedMs = (refusals.at(-1)?.at ?? 0) - (refusals[0]?.at ?? 0);
    const isCertain =
      refusals.some(({ hadWorked }) => !hadWorked) || (refusals.length >= 3 && lastedMs >= 30_000);
    return isCertain ? [] : [`${refusals.length} refusals in ${lastedMs} ms were believed: ${words}`];
  }

  /** Only what waits for a setting is kept. */
  #wrongKept({ attempts }: FolderState, kept: ReadonlySet<number>): string[] {
    const open = new Set(attempts.filter(isOpen).map(({ attempt }) => attempt));
    return [...kept]
      .filter((key) => !open.has(key))
      .map((key) => `the answer of attempt ${key} is still kept`);
  }

  /** What is settled stays settled, and nothing that was on record goes from it. */
  #wrongHistory({ attempts }: FolderState): string[] {
    const now = new Map(attempts.map((row) => [row.attempt, row]));
    return (this.#before?.attempts ?? []).flatMap((was) => {
      const is = now.get(was.attempt);
      if (is === undefined) return [`attempt ${was.attempt} is on record no more`];
      const isKept = is.state === was.state && is.kind === was.kind && is.job_id === was.job_id;
      if (!isOpen(was) && !isKept) return [`attempt ${was.attempt} was ${was.state} and is ${is.state}`];
      return was.job_id !== null && is.job_id !== was.job_id
        ? [`attempt ${was.attempt} has another job`]
        : [];
    });
  }

  /** A scene is sent again only when what came before it has ended without a picture, and no more often than allowed. */
  #wrongRepeats({ attempts }: FolderState): string[] {
    const wrong: string[] = [];
    const latest = new Map<string, AttemptRow>();
    const failed = new Map<string, number>();
    for (const row of attempts) {
      const { fingerprint, number } = row;
      const before = latest.get(fingerprint);
      const isPutBack = before !== undefined && this.#putBack.has(`${fingerprint} ${before.number}`);
      if (isPutBack) failed.set(fingerprint, 0);
      if (before !== undefined && !isPutBack && ['saved', 'intended', 'submitted'].includes(before.state))
        wrong.push(`attempt ${row.attempt} follows one that is ${before.state}`);
      if ((failed.get(fingerprint) ?? 0) >= this.#attempts)
        wrong.push(`attempt ${row.attempt} (${number}) follows ${failed.get(fingerprint)} that failed`);
      latest.set(fingerprint, row);
      const counts = row.state === 'failed' && row.kind !== 'cancelled';
      if (counts) failed.set(fingerprint, (failed.get(fingerprint) ?? 0) + 1);
    }
    return wrong;
  }

  #wrongBudget({ jobs: limit }: Terms): string[] {
    const made = this.#machine.service.jobs.length - this.#jobsBefore;
    if (limit === undefined || made <= Math.max(0, limit - (this.#isLossAccepted ? 0 : this.#jobsBefore)))
      return [];
    return [`${made} jobs were made after ${this.#jobsBefore}, with \`limits.jobs\` of ${limit}`];
  }

  /** Every picture on record is what that very job made, and no other file has the name of one. */
  #wrongPictures({ pictures, attempts }: FolderState, files: Folder['files'], isDead: boolean): string[] {
    const wrong = pictures.flatMap(({ job_id, file, move_to: to }) => {
      const there = [file, to ?? file].flatMap((name) => files.get(name) ?? []);
      if (job_id === null || this.#touchedJobs.has(job_id)) return [];
      // An older record does not know that it was set aside since.
      if (this.#isLossAccepted && files.has(`${file}.former`)) return [];
      if (there.length === 0) return [`${file} is on record and not there`];
      const pixels = pixelsOf(pictureOf(job_id));
      return there.some((png) => pixelsOf(png) === pixels) ? [] : [`${file} is not the picture of ${job_id}`];
    });
    for (const stranger of this.#strangers)
      if (![...files.values()].some((bytes) => bytes.equals(stranger)))
        wrong.push(`${stranger.toString()} is gone`);
    if (isDead || this.#isLossAccepted) return wrong;
    const names = new Set(pictures.flatMap(({ file, move_to: to }) => [file, to ?? file]));
    // What was being written for a job that is given up is removed by the next start.
    const isWriting = attempts.some(({ state, kind }) => state === 'submitted' || kind === 'given-up');
    for (const file of files.keys())
      if (!isWriting && file.endsWith('.png') && !names.has(file) && !this.#touched.has(file))
        wrong.push(`${file} is on no record`);
    return wrong;
  }

  /** Each scene of the list has its picture, on record and on the disk. */
  /** Nothing is sent of a row one of whose seeds was good before this start. */
  #wrongSeeds({ attempts, scenes }: FolderState): string[] {
    if (this.#before === undefined) return [];
    // A picture that was adopted by its name brings no score.
    const told = new Set(
      this.#before.attempts.filter(({ job_id: id }) => id !== null).map((row) => row.fingerprint),
    );
    const rowOf = ({ id, input }: SceneRow): string =>
      `${id.replace(/-s\d+$/, '')} ${sceneOf(JSON.parse(input))}`;
    const good = new Map(
      this.#before.scenes
        .filter(({ state, fingerprint }) => state === 'saved' && scoreOf(fingerprint) >= goodScore)
        .filter(({ fingerprint }) => told.has(fingerprint))
        .map((scene) => [rowOf(scene), scene.id]),
    );
    const known = new Set(this.#before.attempts.map(({ fingerprint }) => fingerprint));
    const sent = new Set(attempts.map(({ fingerprint }) => fingerprint).filter((each) => !known.has(each)));
    return scenes
      .filter((scene) => sent.has(scene.fingerprint) && good.has(rowOf(scene)))
      .map((scene) => `${scene.id} was sent, and ${good.get(rowOf(scene))} was good before`);
  }

  #wrongComplete(
    { attempts, scenes, pictures }: FolderState,
    files: Folder['files'],
    terms: Terms,
  ): string[] {
    const saved = scenes.filter(({ state }) => state === 'saved');
    // What is stored of a scene that is saved may be damaged: nothing is sent on its word.
    const inputs = new Map(this.#machine.service.jobs.map((job) => [job.plan.fingerprint, job.input]));
    const sent = saved.map((row) => sceneOf(inputs.get(row.fingerprint) ?? JSON.parse(row.input))).toSorted();
    const wanted = terms.isUntilGood ? neededOf(saved, sent, terms) : terms.scenes.toSorted();
    const wrong = attempts.filter(isOpen).map(({ attempt }) => `complete, and attempt ${attempt} is open`);
    if (sent.join('\n') !== wanted.join('\n'))
      wrong.push(`complete with ${sent.length} scenes saved of ${terms.scenes.length}`);
    for (const { fingerprint, id } of saved) {
      const own = pictures.filter((row) => row.fingerprint === fingerprint);
      if (own.length === 0) wrong.push(`complete, and ${id} has no picture`);
      for (const { file, bytes } of own)
        if (files.get(file)?.length !== bytes) wrong.push(`complete, and ${file} is not there as a whole`);
    }
    return wrong;
  }
}

/** Of each row: what is saved, where one of it is good; all of its seeds, where none is. */
function neededOf(saved: readonly SceneRow[], sent: readonly string[], { scenes }: Terms): string[] {
  const good = new Set(
    saved
      .filter(({ fingerprint }) => scoreOf(fingerprint) >= goodScore)
      .map(({ input }) => sceneOf(JSON.parse(input))),
  );
  const without = scenes.filter((scene) => !good.has(scene));
  return [...without, ...sent.filter((scene) => good.has(scene) && scenes.includes(scene))].toSorted();
}

function sceneOf(input: unknown): string {
  return String((input as { scene?: unknown }).scene);
}

function countBy(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}
