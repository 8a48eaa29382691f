/** Converts the writes of a group to the lists that the database function takes, one for each kind. */
import { nameKey } from '../../core/naming.ts';
import { suspectCrashes } from '../../core/retry.ts';
import { replacedSuffix } from '../../core/scene.ts';
import { checksumOf } from '../damage.ts';
import type { GroupContext, Of, Write } from './group-context.ts';

export type Lists = Record<string, object[]>;

export function listsOf({ hasPart }: GroupContext, group: Write[]): Lists {
  const of = <Kind extends Write['do']>(kind: Kind): Of<Kind>[] =>
    group.filter((write): write is Of<Kind> => write.do === kind);
  const [writings, settles] = [of('writing'), of('settle')];
  const lists = {
    status: of('status'),
    hand: of('hand'),
    drop: of('drop'),
    owner: of('owner'),
    submitted: of('submitted').map(submittedRow),
    writing: writings.map(({ attempt, settlement }) => ({
      attempt: attempt.key,
      writing: JSON.stringify(settlement),
    })),
    names: writings.flatMap(({ attempt, settlement }) =>
      settlement.pictures.map(({ file }) => ({ attempt: attempt.key, file_key: nameKey(file) })),
    ),
    settle: settles.map(settledRow),
    pictures: settles.flatMap(pictureRows),
    claim: of('claim').map(({ endpoint, ...claim }) => ({
      ...claim,
      ...endpoint,
      isPart: hasPart(),
      suspectDeaths: suspectCrashes,
    })),
  };
  // The function expects a list of pictures even if it is empty.
  const given = Object.entries(lists).filter(([name, rows]) => rows.length > 0 || name === 'pictures');
  return Object.fromEntries(given);
}

function submittedRow({ attempt, job }: Of<'submitted'>): object {
  const { baseUrl: url, id: endpoint } = attempt.endpoint;
  const kept = job.kept === undefined ? null : JSON.stringify(job.kept);
  const checksum = checksumOf(attempt, job.jobId, kept);
  return { attempt: attempt.key, ...job, url, endpoint, kept, checksum };
}

function settledRow({ attempt, settlement, next }: Of<'settle'>): object {
  const { state, scene, failure } = settlement;
  const sceneFailure = scene.state === 'failed' ? scene.failure : undefined;
  return {
    attempt: attempt.key,
    before: state === 'unanswered' || state === 'refused' ? 'intended' : 'submitted',
    state,
    at: settlement.at,
    completed_at: settlement.completedAt,
    status: settlement.status,
    polls: settlement.polls ?? 0,
    delay_time_ms: settlement.delayTimeMs,
    execution_time_ms: settlement.executionTimeMs,
    failure_kind: failure?.kind,
    failure_text: failure?.text,
    failure_digest: failure?.digest,
    scene_state: scene.state,
    due_at: scene.state === 'waiting' ? Math.max(1, scene.dueAt) : 0,
    scene_failure_kind: sceneFailure?.kind,
    scene_failure_text: sceneFailure?.text,
    next_seed: next,
  };
}

function pictureRows({ attempt, settlement }: Of<'settle'>): object[] {
  return (settlement.pictures ?? []).map((picture, i) => ({
    ...picture,
    output: picture.output && JSON.stringify(picture.output),
    attempt: attempt.key,
    number: i + 1,
    name: attempt.isReplaced ? picture.file.replace(replacedSuffix(attempt.fingerprint), '') : picture.file,
    file_key: nameKey(picture.file),
  }));
}
