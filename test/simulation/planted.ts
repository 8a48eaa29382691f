/** Bugs planted on purpose, each at one place in the source. The simulation must find every one. */

export interface PlantedBug {
  name: string;
  file: string;
  /** Text that occurs in the file exactly once. */
  from: string;
  to: string;
  /** Seed of a night that found this bug. It is tried first, because a search takes up to a minute. */
  seed: number;
}

export const plantedBugs: PlantedBug[] = [
  {
    name: 'the job id is recorded after the first poll',
    file: 'src/runner/pipeline/submit-attempt.ts',
    from: '  const recorded = await checkpoint.recordSubmitted(attempt, { ...job, at });',
    to: `  await run.ports.service.status({ endpoint: attempt.endpoint, jobId }, run.abandoned);
  const recorded = await checkpoint.recordSubmitted(attempt, { ...job, at });`,
    seed: 644,
  },
  {
    name: 'a scene is saved before its picture is written',
    file: 'src/runner/pipeline/save-result.ts',
    from: `  await Promise.all(good.map((picture, i) => run.ports.images.write(picture, files[i] ?? '')));
  await settleSaved(run, attempt, settlement, facts);`,
    to: `  await settleSaved(run, attempt, settlement, facts);
  await Promise.all(good.map((picture, i) => run.ports.images.write(picture, files[i] ?? '')));`,
    seed: 18,
  },
  {
    name: 'a submission in progress at a crash is taken as not sent',
    file: 'src/runner/pipeline/recover.ts',
    from: "  await recordWithoutPicture(run, attempt, 'unanswered', failure);",
    to: "  await recordWithoutPicture(run, attempt, 'refused', failure);",
    seed: 610,
  },
  {
    name: 'the first 404 is believed',
    file: 'src/runner/pipeline/missing.ts',
    from: "  if (since === undefined || (wasKnown && job.missing < 3)) return { kind: 'endpoint-doubtful', text };",
    to: '  if (since === undefined) return expire(run, job, text);',
    seed: 3,
  },
  {
    name: 'a 404 of a fresh job is believed',
    file: 'src/runner/pipeline/missing.ts',
    from: "  if (ageMs(job, run.ports.clock) < run.config.freshness) return { kind: 'not-known-yet', text };",
    to: '',
    seed: 609,
  },
  {
    name: 'failed jobs are polled again after a restart',
    file: 'src/runner/checkpoint/attempt-records.ts',
    from: "`${attemptRow} WHERE a.state = 'submitted' ORDER BY a.submitted_at`",
    to: "`${attemptRow} WHERE a.state IN ('submitted', 'failed') ORDER BY a.submitted_at`",
    seed: 3,
  },
  {
    name: 'failed attempts are not counted',
    file: 'src/runner/core/retry-policy.ts',
    from: 'return failures >= settings.attempts || cameBefore ? failed : again(failures);',
    to: 'return again(failures);',
    seed: 606,
  },
  {
    name: 'unanswered submissions are sent again although they should be held',
    file: 'src/runner/core/retry-policy.ts',
    from: "if (failure.kind === 'unanswered' && settings.unanswered === 'hold') return failed;",
    to: '',
    seed: 20,
  },
  {
    name: 'jobs in flight are not resumed',
    file: 'src/runner/pipeline/run-batch.ts',
    from: '    await slots.resume(inFlight);',
    to: '',
    seed: 602,
  },
  {
    name: 'jobs of withdrawn scenes are forgotten',
    file: 'src/runner/checkpoint/attempt-records.ts',
    from: "`${attemptRow} WHERE a.state = 'submitted' ORDER BY a.submitted_at`",
    to: "`${attemptRow} WHERE a.state = 'submitted' AND s.state <> 'withdrawn' ORDER BY a.submitted_at`",
    seed: 618,
  },
  {
    name: 'renames are not recorded',
    file: 'src/runner/pipeline/recover.ts',
    from: '    await checkpoint.recordMoved(move);',
    to: '',
    seed: 55,
  },
  {
    name: 'the name of another picture is given away',
    file: 'src/runner/pipeline/picture-names.ts',
    from: 'const isFree = owner === undefined || isOwnedBy(attempt, owner);',
    to: 'const isFree = true;',
    seed: 1,
  },
  {
    name: 'names of pictures that are being written are not reserved',
    file: 'src/runner/pipeline/picture-names.ts',
    from: '      if (this.#reserved.has(key)) continue;',
    to: '',
    seed: 613,
  },
  {
    name: 'submissions are not counted against the limit',
    file: 'src/runner/pipeline/submission-limits.ts',
    from: 'this.#spending = { ...this.#spending, jobs: this.#spending.jobs + count };',
    to: 'void count;',
    seed: 5,
  },
  {
    name: 'an id that is another job’s is taken for the attempt’s',
    file: 'src/runner/checkpoint/attempt-records.ts',
    from: 'if (sql.jobOf.get(place) !== undefined) {',
    to: 'if (sql.jobOf.get({ ...place, jobId: `${jobId}?` }) !== undefined) {',
    seed: 20,
  },
  {
    name: 'deadlines follow the system clock',
    file: 'src/runner/pipeline/follow.ts',
    from: 'if (job.executingElapsed === undefined && now - job.followedElapsed > queueMs) {',
    to: 'if (job.executingElapsed === undefined && now - job.submittedElapsed > queueMs) {',
    seed: 5,
  },
  {
    name: 'an edited row keeps its old picture',
    file: 'src/runner/checkpoint/reconcile.ts',
    from: 'same.get(id, fingerprint) ?? (',
    to: `db.prepare<[string], KnownScene>('SELECT scene, position, source, input, columns FROM scenes WHERE id = ?').get(id) ?? same.get(id, fingerprint) ?? (`,
    seed: 604,
  },
  {
    name: 'a lost log is not noticed',
    file: 'src/runner/checkpoint/find-loss.ts',
    from: 'if (mark === undefined || reached.commit >= mark.commit) return undefined;',
    to: 'return undefined;',
    seed: 4,
  },
  {
    name: 'an older checkpoint is taken for the one that the last run left',
    file: 'src/runner/checkpoint/find-loss.ts',
    from: 'if (isSealed(path, mark.sha256)) return undefined;',
    to: 'return undefined;',
    seed: 20,
  },
  {
    name: 'a loss that is accepted is not declared',
    file: 'src/runner/checkpoint/open-checkpoint.ts',
    from: 'lost_submissions = lost_submissions + @submissions',
    to: 'lost_submissions = lost_submissions',
    seed: 4,
  },
  {
    name: 'truncated pictures are taken for complete',
    file: 'src/runner/images/saved-files.ts',
    from: "return facts?.kind === 'file' && facts.bytes === bytes;",
    to: "return facts?.kind === 'file';",
    seed: 42,
  },
  {
    name: 'other people’s files are overwritten',
    file: 'src/runner/images/image-store.ts',
    from: 'const isInTheWay = await wouldOverwrite(place, file, picture);',
    to: 'const isInTheWay = false;',
    seed: 69,
  },
  {
    name: 'a result that waits for a setting fails its scene',
    file: 'src/runner/core/halting.ts',
    from: 'if (isOwnOnceFound.has(kind)) return !isAnyFound || isOtherMedia === true;',
    to: 'if (isOwnOnceFound.has(kind)) return false;',
    seed: 2,
  },
  {
    name: 'kept answers are not read',
    file: 'src/runner/pipeline/follow.ts',
    from: 'isKept(job) && job.isKeptDue ? await run.ports.answers.read(job.attempt) : undefined',
    to: 'undefined',
    seed: 5,
  },
  {
    name: 'kept answers outlive their attempts',
    file: 'src/runner/pipeline/settle.ts',
    from: `  await checkpoint.settle(attempt, settlement);
  await run.ports.answers.remove(attempt);`,
    to: '  await checkpoint.settle(attempt, settlement);',
    seed: 603,
  },
  {
    name: 'the first refusal is believed',
    file: 'src/runner/pipeline/access.ts',
    from: 'if (isBelieved(inARow, now, refusedMs))',
    to: 'if (inARow.count > 0)',
    seed: 1,
  },
  {
    name: 'an output that comes late is not waited for',
    file: 'src/runner/pipeline/jobs-in-flight.ts',
    from: 'if (waitMs === undefined || this.#emptyInARow >= maxEmptyInARow) {',
    to: 'if (Date.now() > 0) {',
    seed: 605,
  },
];
