/**
 * The behaviour of a checkpoint that the pipeline relies on. The same tests run for SQLite in memory, SQLite
 * in a file, and PostgreSQL.
 */
import { expect, it } from 'vitest';
import type { Attempt, SavedSettlement, Settlement, Submitted } from '../../../src/runner/core/attempt.ts';
import type { Checkpoint } from '../../../src/runner/pipeline/ports.ts';
import { endpoint, manifestOf, unstopped } from '../../fakes/world.ts';

const abc = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'moon'],
]);

/**
 * A batch. `reopen` opens it as a later run of the program does, although the earlier run has not ended it.
 */
export interface ReopenedBatch {
  checkpoint: Checkpoint;
  reopen: () => Checkpoint | Promise<Checkpoint>;
}

export function checkpointContract(open: () => ReopenedBatch | Promise<ReopenedBatch>): void {
  const begin = async (): Promise<ReopenedBatch> => {
    const batch = await open();
    await batch.checkpoint.reconcile(abc, unstopped);
    return batch;
  };
  const submitted = (attempt: Attempt, jobId: string): Submitted => ({
    ...attempt,
    job: { endpoint, jobId, submittedAt: 20 },
  });

  it('claims scenes in the order of the manifest, each once', async () => {
    const { checkpoint } = await begin();
    const first = await checkpoint.claim(2, endpoint, 10);
    const rest = await checkpoint.claim(5, endpoint, 11);
    expect([...first, ...rest].map(({ sceneId, number }) => [sceneId, number])).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ]);
    expect(first[0]).toMatchObject({ endpoint, input: { scene: 'sea' }, isReplaced: false });
    expect(await checkpoint.claim(5, endpoint, 12)).toEqual([]);
    expect(await checkpoint.counts()).toMatchObject({ active: 3, waiting: 0 });
  });

  it('counts jobs that were billed for pictures, whatever became of these, and no jobs that the service ended', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b, c] = await checkpoint.claim(3, endpoint, 10);
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were claimed');
    for (const attempt of [a, b, c])
      await checkpoint.recordSubmitted(attempt, { jobId: attempt.sceneId, status: 'IN_QUEUE', at: 15 });
    expect(await checkpoint.spending()).toMatchObject({ jobs: 3, rendered: 0 });
    const scene = { state: 'waiting', dueAt: 99 } as const;
    for (const [attempt, kind] of [
      [b, 'blank-picture'],
      [c, 'job-failed'],
    ] as const)
      await checkpoint.settle(attempt, { state: 'failed', at: 20, failure: { kind, text: kind }, scene });
    const picture = { width: 1_000, height: 2_000, bytes: 9, sha256: 'ab' };
    const pictures = [
      { ...picture, file: 'a.png' },
      { ...picture, file: 'a_2.png', height: 500 },
      { ...picture, file: 'a.json', width: 0, height: 0, label: 'words' },
    ];
    await checkpoint.settle(a, { state: 'saved', at: 30, pictures, scene: { state: 'saved' } });
    expect(await (await reopen()).spending()).toMatchObject({
      jobs: 3,
      rendered: 2,
      brought: { jobs: 1, pictures: 2, pixels: 2_500_000, mostPictures: 2, mostPixels: 2_000_000 },
    });
  });

  it('adds up how long clips last, without those whose duration is unknown', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b] = await checkpoint.claim(2, endpoint, 10);
    if (a === undefined || b === undefined) throw new Error('two were claimed');
    const clip = { width: 0, height: 0, bytes: 9, sha256: 'ab' };
    const clips = [
      { ...clip, file: 'a.wav', output: { clip: { durationMs: 1_500.5, codecs: ['pcm_s16le'] } } },
      { ...clip, file: 'a_2.wav', output: { notes: ['a "clip" of sound'], clip: { durationMs: 4_000 } } },
    ];
    const endless = [{ ...clip, file: 'b.webm', output: { clip: { isEndOpen: true as const } } }];
    for (const [attempt, pictures] of [
      [a, clips],
      [b, endless],
    ] as const) {
      await checkpoint.recordSubmitted(attempt, { jobId: attempt.sceneId, status: 'IN_QUEUE', at: 15 });
      await checkpoint.settle(attempt, { state: 'saved', at: 30, pictures, scene: { state: 'saved' } });
    }
    expect(await (await reopen()).spending()).toMatchObject({
      brought: { jobs: 2, pictures: 3, clips: 2, clipMs: 5_500.5, mostClipMs: 4_000 },
    });
  });

  it('adds up the prices that jobs stated at the present path, and the times and pictures of the others', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b, c] = await checkpoint.claim(3, endpoint, 10);
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were claimed');
    for (const attempt of [a, b, c])
      await checkpoint.recordSubmitted(attempt, { jobId: attempt.sceneId, status: 'IN_QUEUE', at: 15 });
    const [at, other] = ["it's.cost", 'output.cost'];
    const saved = (file: string): SavedSettlement => ({
      state: 'saved',
      at: 30,
      executionTimeMs: 4_000,
      pictures: [{ file, width: 2, height: 3, bytes: 9, sha256: 'ab' }],
      scene: { state: 'saved' },
    });
    const writing = { ...saved('a.png'), cost: { at, amount: 0.0125 } };
    await checkpoint.beginWriting(a, writing);
    await checkpoint.settle(a, writing);
    await checkpoint.settle(b, { ...saved('b.png'), cost: { at } });
    const failure = { kind: 'job-failed', text: 'no memory' } as const;
    const scene = { state: 'waiting', dueAt: 99 } as const;
    await checkpoint.settle(c, { state: 'failed', at: 20, failure, scene, cost: { at, amount: 1e15 } });
    for (const store of [checkpoint, await reopen()]) {
      expect(await store.spending(at)).toMatchObject({
        jobs: 3,
        statedJobs: 2,
        stated: 1e15 + 0.0125,
        unstated: 1,
        prices: [0.0125],
        executedMs: 4_000,
        untimed: 0,
        rendered: 1,
        brought: { jobs: 1, pictures: 1, pixels: 6 },
        times: [4_000, 4_000],
      });
      for (const path of [undefined, other])
        expect(await store.spending(path)).toMatchObject({
          statedJobs: 0,
          stated: 0,
          unstated: 0,
          prices: [],
          executedMs: 8_000,
          rendered: 2,
          brought: { jobs: 2, pictures: 2, pixels: 12 },
        });
    }
  });

  it('keeps why a result waits for a setting with its job, until that is settled', async () => {
    const { checkpoint, reopen } = await begin();
    expect(await checkpoint.hasAccepted()).toBe(false);
    const [a, b] = await checkpoint.claim(2, endpoint, 10);
    if (a === undefined || b === undefined) throw new Error('two were claimed');
    for (const attempt of [a, b])
      await checkpoint.recordSubmitted(attempt, {
        jobId: attempt.sceneId,
        status: 'IN_QUEUE',
        at: 15 + attempt.key,
      });
    expect(await checkpoint.hasAccepted()).toBe(true);
    const held = { kind: 'url-refused', text: 'no such host', completedAt: 20, answer: 'ab@here' } as const;
    const seen = { status: 'COMPLETED', isExecuting: false, at: 21 };
    await checkpoint.recordStatus(a, { ...seen, held });
    await checkpoint.recordStatus(b, { status: 'IN_PROGRESS', isExecuting: true, at: 22 });
    await checkpoint.recordFoundWith('these settings');
    await checkpoint.recordFoundWith('other settings');

    const later = await reopen();
    const left = await later.openAttempts();
    expect(left.map((attempt) => attempt.job.held)).toEqual([held, undefined]);
    expect(left.map((attempt) => attempt.job.executingAt)).toEqual([undefined, 22]);
    expect(await later.foundWith()).toBe('other settings');
    expect(await later.inFlightAmong([a.key, b.key, 999])).toEqual([a.key, b.key]);
    const { answer: _answer, ...unkept } = held;
    await later.recordStatus(a, { ...seen, held: unkept });
    expect((await later.openAttempts())[0]?.job.held).toEqual(unkept);

    const failure = { kind: 'job-timed-out', text: 'too slow' } as const;
    const scene = { state: 'waiting', dueAt: 99 } as const;
    await later.settle(b, { state: 'failed', at: 30, failure, scene });
    expect(await later.hasEndedOtherwise(endpoint, 1_000)).toBe(false);
    await later.settle(a, { state: 'saved', at: 31, pictures: [], scene: { state: 'saved' } });
    expect(await later.hasEndedOtherwise(endpoint, 1_000)).toBe(true);
    expect(await later.hasEndedOtherwise({ ...endpoint, id: 'another' }, 1_000)).toBe(false);
    expect(await later.inFlightAmong([a.key, b.key])).toEqual([]);
  });

  it('counts a lost job as one average job, however late it is noticed, and never reduces reported costs', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b, c] = await checkpoint.claim(3, endpoint, 10);
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were claimed');
    const now = Date.now() + 3_600_000;
    for (const attempt of [a, b, c]) {
      await checkpoint.recordSubmitted(attempt, { jobId: attempt.sceneId, status: 'IN_QUEUE', at: now });
      await checkpoint.recordStatus(attempt, { status: 'IN_PROGRESS', isExecuting: true, at: now + 10 });
    }
    const scene = { state: 'waiting', dueAt: 99 } as const;
    const expired = { state: 'expired', failure: { kind: 'expired', text: '404' }, scene } as const;
    const pictures = [{ file: 'c.png', width: 1, height: 1, bytes: 9, sha256: 'ab' }];
    const late = now + 70_000;
    await checkpoint.settle(a, { ...expired, at: late });
    await checkpoint.settle(b, { ...expired, at: late, executionTimeMs: 600 });
    await checkpoint.settle(c, {
      state: 'saved',
      at: late,
      completedAt: now + 810,
      pictures,
      scene: { state: 'saved' },
    });
    const spent = { jobs: 3, executedMs: 1_400, untold: 2, untimed: 1, times: [600, 800] };
    expect(await checkpoint.spending()).toMatchObject(spent);
    expect(await (await reopen()).spending()).toMatchObject(spent);
  });

  it('keeps what the service said of a job with the job, and knows which jobs are on record', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b] = await checkpoint.claim(2, endpoint, 10);
    if (a === undefined || b === undefined) throw new Error('two were claimed');
    const kept = {
      status_url: "https://service.example/it's/1?a=1",
      cancel_url: 'https://service.example/c',
    };
    await checkpoint.recordSubmitted(a, { jobId: 'job-a', status: 'IN_QUEUE', at: 15, kept });
    await checkpoint.recordSubmitted(b, { jobId: 'job-b', status: 'IN_QUEUE', at: 16 });
    const later = await reopen();
    await later.recover();
    const [first, second] = await later.openAttempts();
    expect(first?.job).toMatchObject({ jobId: 'job-a', kept });
    expect(second?.job).not.toHaveProperty('kept');
    expect(await later.hasJob({ endpoint, jobId: 'job-a' })).toBe(true);
    expect(await later.hasJob({ endpoint, jobId: 'job-c' })).toBe(false);
    expect(await later.hasJob({ endpoint: { ...endpoint, id: 'other' }, jobId: 'job-a' })).toBe(false);
  });

  it('returns after a crash the submissions without an answer and the jobs in flight, oldest first', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b, c] = await checkpoint.claim(3, endpoint, 10);
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were claimed');
    await checkpoint.recordSubmitted(c, { jobId: 'job-c', status: 'IN_QUEUE', at: 15 });
    await checkpoint.recordSubmitted(a, { jobId: 'job-a', status: 'IN_QUEUE', at: 20 });
    const later = await reopen();
    const [intended, ...others] = await later.recover();
    expect(intended).toMatchObject({ sceneId: 'b', crashes: 1 });
    expect(others).toEqual([]);
    if (intended === undefined) throw new Error('one was intended');
    const failure = { kind: 'unanswered', text: 'died' } as const;
    await later.settle(intended, {
      state: 'unanswered',
      at: 100,
      failure,
      scene: { state: 'waiting', dueAt: 100 },
    });
    expect(await later.recover()).toEqual([]);
    expect(
      (await later.openAttempts()).map(({ sceneId, job }) => [sceneId, job.jobId, job.submittedAt]),
    ).toEqual([
      ['c', 'job-c', 15],
      ['a', 'job-a', 20],
    ]);
    const [again] = await later.claim(3, endpoint, 101);
    expect(again).toMatchObject({ sceneId: 'b', number: 2, before: { unanswered: 1, failed: 0 } });
  });

  it('names each submission by a key that no other has, the same for a later run, with what was shown meanwhile', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b, c] = await checkpoint.claim(3, endpoint, 10);
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were claimed');
    const keys = [a, b, c].map(({ idempotency }) => idempotency?.key);
    expect(new Set(keys).size).toBe(3);
    for (const key of keys) expect(key).toMatch(/^[!-~]{1,255}$/);
    expect(a.idempotency).toEqual({ key: keys[0], intendedAt: 10 });
    await checkpoint.recordSubmitted(a, { jobId: 'job-a', status: '', at: 20, idempotencyMs: 60_000 });
    const later = await reopen();
    const expected = [b, c].map(({ idempotency }) => ({ ...idempotency, shownMs: 60_000 }));
    expect((await later.recover()).map(({ idempotency }) => idempotency)).toEqual(expected);
    expect((await later.recover()).map(({ idempotency }) => idempotency)).toEqual(expected);
    await later.reconcile(manifestOf([['b', 'hills']]), unstopped);
    const gone = (await later.recover()).map(({ sceneId, isWithdrawn }) => [sceneId, isWithdrawn]);
    expect(gone).toEqual([
      ['b', undefined],
      ['c', true],
    ]);
  });

  it('counts one crash for each run that crashed with a scene in progress, even if it was never settled', async () => {
    const { checkpoint, reopen } = await begin();
    await checkpoint.claim(1, endpoint, 10);
    expect((await checkpoint.recover())[0]?.crashes, 'it lives').toBe(0);
    const second = await reopen();
    const [a] = await second.recover();
    if (a === undefined) throw new Error('one was intended');
    expect(a.crashes).toBe(1);
    const third = await reopen();
    expect((await third.recover())[0]?.crashes, 'the second had not taken it up').toBe(1);
    await third.setInProgress(a, true);
    expect((await third.recover())[0]?.crashes, 'it lives').toBe(1);
    const fourth = await reopen();
    expect((await fourth.recover())[0]?.crashes).toBe(2);
  });

  it('offers retries when they are due, before scenes that were never tried', async () => {
    const { checkpoint } = await begin();
    const [a] = await checkpoint.claim(1, endpoint, 10);
    if (a === undefined) throw new Error('one was claimed');
    await checkpoint.recordSubmitted(a, { jobId: 'job-a', status: 'IN_QUEUE', at: 20 });
    const failure = { kind: 'job-failed', text: 'no memory' } as const;
    await checkpoint.settle(a, { state: 'failed', at: 30, failure, scene: { state: 'waiting', dueAt: 500 } });
    expect(await checkpoint.nextDue()).toEqual({ at: 0, isSuspect: false });
    expect((await checkpoint.claim(1, endpoint, 499)).map(({ sceneId }) => sceneId)).toEqual(['b']);
    const [retry] = await checkpoint.claim(1, endpoint, 500);
    expect(retry).toMatchObject({
      sceneId: 'a',
      number: 2,
      before: { failed: 1, failedKinds: ['job-failed'] },
    });
    await checkpoint.claim(1, endpoint, 501);
    expect(await checkpoint.nextDue()).toBeUndefined();
  });

  it('refuses moves that the table of states does not have', async () => {
    const { checkpoint } = await begin();
    const [a] = await checkpoint.claim(1, endpoint, 10);
    if (a === undefined) throw new Error('one was claimed');
    const saved: Settlement = { state: 'saved', at: 30, pictures: [], scene: { state: 'saved' } };
    await expect(checkpoint.settle(a, saved)).rejects.toThrow('cannot move from intended to saved');
    await checkpoint.recordSubmitted(a, { jobId: 'job-a', status: 'IN_QUEUE', at: 20 });
    await expect(checkpoint.recordSubmitted(a, { jobId: 'x', status: '', at: 21 })).rejects.toThrow(
      'from submitted to submitted',
    );
    await checkpoint.settle(submitted(a, 'job-a'), saved);
    await expect(checkpoint.settle(a, saved)).rejects.toThrow('cannot move from saved to saved');
  });

  it('does not take the id of one job for two attempts', async () => {
    const { checkpoint } = await begin();
    const [a, b] = await checkpoint.claim(2, endpoint, 10);
    if (a === undefined || b === undefined) throw new Error('two were claimed');
    const job = { jobId: 'job-1', status: 'IN_QUEUE', at: 20 };
    expect(await checkpoint.recordSubmitted(a, job)).toBe('recorded');
    expect(await checkpoint.recordSubmitted(b, job)).toEqual({ doubtful: undefined });
    expect((await checkpoint.openAttempts()).map((each) => [each.sceneId, each.job.isShared])).toEqual([
      ['a', true],
    ]);
  });

  it('says which scene was saved by an id that another submission is answered with', async () => {
    const { checkpoint } = await begin();
    const [a, b] = await checkpoint.claim(2, endpoint, 10);
    if (a === undefined || b === undefined) throw new Error('two were claimed');
    const job = { jobId: 'job-1', status: 'IN_QUEUE', at: 20 };
    await checkpoint.recordSubmitted(a, job);
    const saved: Settlement = { state: 'saved', at: 30, pictures: [], scene: { state: 'saved' } };
    await checkpoint.settle(submitted(a, 'job-1'), saved);
    expect(await checkpoint.recordSubmitted(b, job)).toEqual({ doubtful: 'a' });
  });

  it('finds the owner of a file, comparing names as file systems do', async () => {
    const { checkpoint, reopen } = await begin();
    const [a] = await checkpoint.claim(1, endpoint, 10);
    if (a === undefined) throw new Error('one was claimed');
    await checkpoint.recordSubmitted(a, { jobId: 'job-a', status: 'IN_QUEUE', at: 20 });
    const picture = { file: 'Sea/Ä.png', width: 1, height: 1, bytes: 9, sha256: 'ab', seed: '1' };
    await checkpoint.settle(a, { state: 'saved', at: 30, pictures: [picture], scene: { state: 'saved' } });
    const owner = { sceneId: 'a', fingerprint: a.fingerprint };
    const later = await reopen();
    expect(await later.ownerOf('sea/a\u0308.PNG')).toMatchObject(owner);
    expect(await later.ownerOf('sea/b.png')).toBeUndefined();
  });

  it('names to the next run the files that were being written, until their attempt is settled', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b] = await checkpoint.claim(2, endpoint, 10);
    if (a === undefined || b === undefined) throw new Error('two were claimed');
    for (const each of [a, b])
      await checkpoint.recordSubmitted(each, { jobId: `job-${each.sceneId}`, status: 'IN_QUEUE', at: 20 });
    const settlementOf = (file: string): SavedSettlement => ({
      state: 'saved',
      at: 30,
      status: 'COMPLETED',
      polls: 3,
      pictures: [{ file, width: 1, height: 1, bytes: 9, sha256: file, seed: '12345678901234567890' }],
      scene: { state: 'saved' },
    });
    await checkpoint.beginWriting(a, settlementOf('a.png'));
    await checkpoint.beginWriting(b, settlementOf('b.png'));
    await checkpoint.settle(b, settlementOf('b.png'));
    const later = await reopen();
    const left = await later.unfinishedWriting();
    expect(left).toMatchObject([
      { attempt: { key: a.key, sceneId: 'a' }, isInFlight: true, settlement: settlementOf('a.png') },
    ]);
    // Otherwise the file would count as another picture, and the later run would not adopt it.
    expect(await later.ownerOf('a.png')).toBeUndefined();
    await later.dropWriting(a);
    const last = await reopen();
    expect(await last.unfinishedWriting()).toEqual([]);
    expect((await last.openAttempts()).map(({ sceneId }) => sceneId)).toEqual(['a']);
  });

  it('records what a file beside pictures is before it is written, and renames it with them', async () => {
    const { checkpoint, reopen } = await begin();
    const [a, b] = await checkpoint.claim(2, endpoint, 10);
    if (a === undefined || b === undefined) throw new Error('two were claimed');
    const outputs = { a: { labelled_words: ['"buoy"'], ignored_words: ['\\'] }, b: { ignored_words: [] } };
    const settlementOf = (id: 'a' | 'b'): SavedSettlement => ({
      state: 'saved',
      at: 30,
      pictures: [
        { file: `${id}.png`, width: 1, height: 1, bytes: 9, sha256: 'ab', output: outputs[id] },
        { file: `${id}-depth.exr`, width: 1, height: 1, bytes: 9, sha256: 'cd', label: 'depth' },
        { file: `${id}-camera.json`, width: 0, height: 0, bytes: 2, sha256: 'ef', label: 'camera' },
      ],
      scene: { state: 'saved' },
    });
    for (const [id, each] of [['a', a] as const, ['b', b] as const]) {
      await checkpoint.recordSubmitted(each, { jobId: `job-${id}`, status: '', at: 20 });
      expect(await checkpoint.beginWriting(each, settlementOf(id))).toBe(true);
    }
    await checkpoint.settle(b, settlementOf('b'));
    const later = await reopen();
    expect(await later.unfinishedWriting()).toMatchObject([{ settlement: settlementOf('a') }]);
    await later.settle(a, settlementOf('a'));
    const recorded = [...(await later.savedPictures())].map(({ file, number, label }) => [
      file,
      number,
      label,
    ]);
    expect(recorded).toEqual(
      ['a', 'b'].flatMap((id) => [
        [`${id}.png`, 1, null],
        [`${id}-depth.exr`, 2, 'depth'],
        [`${id}-camera.json`, 3, 'camera'],
      ]),
    );
    expect(await later.pictureTotals()).toEqual({ files: 2, bytes: 18, labelled: 1, ignored: 1 });
    expect(await later.ownerOf('A-DEPTH.exr')).toMatchObject({ sceneId: 'a' });
    expect(await later.lackingFiles()).toEqual([]);
    await later.reconcile(manifestOf([['a', 'sea at noon']]), unstopped);
    const moves = await later.pendingMoves();
    expect(moves.map(({ from }) => from)).toEqual(['a.png', 'a-depth.exr', 'a-camera.json']);
    for (const { from, to } of moves) expect(to.split('.').at(-1)).toBe(from.split('.').at(-1));
  });

  it('forgets scenes that leave the list before anything was sent, and no others', async () => {
    const { checkpoint } = await begin();
    await checkpoint.claim(1, endpoint, 10);
    const next = [['d', 'lake']] as [string, string][];
    expect(await checkpoint.reconcile(manifestOf(next), unstopped)).toMatchObject({ added: 1, withdrawn: 3 });
    expect(await checkpoint.counts()).toMatchObject({ waiting: 1, withdrawn: 1 });
    // The key of a forgotten scene may be reused for another one.
    next.push(['a', 'sea'], ['e', 'dunes'], ['c', 'moon']);
    expect(await checkpoint.reconcile(manifestOf(next), unstopped)).toMatchObject({ added: 2, unchanged: 2 });
    expect(await checkpoint.counts()).toMatchObject({ waiting: 3, active: 1, withdrawn: 0 });
    const claimed = await checkpoint.claim(9, endpoint, 11);
    expect(claimed.map(({ sceneId, input }) => [sceneId, input['scene']])).toEqual([
      ['d', 'lake'],
      ['e', 'dunes'],
      ['c', 'moon'],
    ]);
  });

  it('puts scenes back that an earlier version failed as ComfyUI refused the workflow, also with the same list', async () => {
    const { checkpoint } = await begin();
    const same = { ...abc, digest: 'same' };
    await checkpoint.reconcile(same, unstopped);
    const [attempt] = await checkpoint.claim(1, endpoint, 10);
    if (attempt === undefined) throw new Error('nothing was claimed');
    const text = 'ComfyUI refused the workflow: node 4 (Loader): Value not in list';
    const failure = { kind: 'input-refused', text } as const;
    await checkpoint.settle(attempt, {
      state: 'refused',
      at: 11,
      failure,
      scene: { state: 'failed', failure },
    });
    expect(await checkpoint.counts()).toMatchObject({ failed: 1 });
    await checkpoint.reconcile(same, unstopped);
    expect(await checkpoint.counts()).toMatchObject({ failed: 0, waiting: 3 });
  });

  it('counts the changes of a new manifest', async () => {
    const { checkpoint } = await begin();
    const next = manifestOf([
      ['d', 'new'],
      ['b', 'hills, edited'],
      ['a', 'sea'],
    ]);
    expect(await checkpoint.reconcile(next, unstopped)).toEqual({
      added: 1,
      changed: 1,
      unchanged: 1,
      withdrawn: 1,
    });
    expect(await checkpoint.counts()).toMatchObject({ waiting: 3, withdrawn: 0 });
    expect((await checkpoint.claim(9, endpoint, 3)).map(({ sceneId }) => sceneId)).toEqual(['d', 'b', 'a']);
  });
}
