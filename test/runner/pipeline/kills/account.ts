/** Holds what the checkpoint and the folder say against the service's own account; every difference is a sentence. */
import type { FakeJob } from '../../../fakes/fake-service.ts';
import { retentionMs } from '../../../fakes/service-jobs.ts';
import type { World } from '../../../fakes/world.ts';
import type { Scenario } from './scenario.ts';
import type { Seen } from './walk.ts';

/** `undisturbed` is the same night without a death. */
export function differences(scenario: Scenario, seen: Seen, undisturbed: Seen): string[] {
  return [
    ...seen.wrong,
    ...wrongEndings(scenario, seen, undisturbed),
    ...wrongScenes(seen, undisturbed),
    ...wrongJobs(seen),
    ...wrongPictures(seen, undisturbed),
    ...wrongUnanswered(seen),
    ...wrongCount(scenario, seen, undisturbed),
    ...wrongDeaths(seen),
    ...wrongAnswers(seen),
  ];
}

interface AttemptRow {
  attempt: number;
  scene: string;
  job_id: string | null;
  state: string;
  kind: string | null;
  settled_at: number | null;
}

function attemptsOf(world: World): AttemptRow[] {
  return world.rows<AttemptRow>(`
    SELECT a.attempt, json_extract(s.input, '$.scene') AS scene, a.job_id, a.state, a.failure_kind AS kind, a.settled_at
    FROM attempts a JOIN scenes s USING (scene)`);
}

function wrongEndings({ steps }: Scenario, seen: Seen, undisturbed: Seen): string[] {
  const isSetAside = quarantined(seen).size > 0;
  return steps.flatMap(({ what }, i) => {
    const [is, was] = [seen.endings[i], undisturbed.endings[i]];
    // What nobody cancels comes to its end while the program is dead.
    const hasRunOn = what === 'cancel' && was === 'incomplete' && is === 'complete';
    return is === was || is === 'died' || hasRunOn || (isSetAside && is === 'incomplete')
      ? []
      : [`step ${i + 1} ended as ${is}, and undisturbed as ${was}`];
  });
}

interface SceneRow {
  id: string;
  scene: string;
  state: string;
  kind: string | null;
  deaths: number;
}

/** Texts of the scenes that were set aside, for which the program has to have died with them three times. */
function quarantined({ world, inHandAtDeaths }: Seen): Set<string> {
  const rows = world.rows<{ scene: string }>(
    "SELECT json_extract(input, '$.scene') AS scene FROM scenes WHERE failure_kind = 'quarantined'",
  );
  const texts = rows.map(({ scene }) => scene);
  return new Set(texts.filter((text) => (inHandAtDeaths.get(text) ?? 0) >= 3));
}

/** Each scene is where it would have ended undisturbed, save for one that was in hand at three deaths. */
function wrongScenes(seen: Seen, undisturbed: Seen): string[] {
  const scenesOf = ({ world }: Seen): SceneRow[] =>
    world.rows<SceneRow>(`
      SELECT id, json_extract(input, '$.scene') AS scene, state, failure_kind AS kind, deaths FROM scenes ORDER BY id, fingerprint`);
  const now = scenesOf(seen);
  const setAside = quarantined(seen);
  return scenesOf(undisturbed).flatMap((expected) => {
    const scene = now.find(({ id, scene: text }) => id === expected.id && text === expected.scene);
    const name = `"${expected.scene}"`;
    if (scene === undefined) return expected.state === 'withdrawn' ? [] : [`scene ${name} is lost`];
    if (setAside.has(scene.scene)) return [];
    if (scene.state === expected.state && scene.kind === expected.kind) return [];
    return [`${name} is ${scene.state} ${scene.kind}, and undisturbed ${expected.state} ${expected.kind}`];
  });
}

/** Every job that the service made is on record with what became of it, or declared as unanswered; and none is invented. */
function wrongJobs(seen: Seen): string[] {
  const { world } = seen;
  const setAside = quarantined(seen);
  const attempts = attemptsOf(world);
  const known = new Map(attempts.map((attempt) => [attempt.job_id, attempt]));
  const wrong: string[] = [];
  const orphans = new Map<string, number>();
  for (const job of world.service.jobs) {
    const attempt = known.get(job.id);
    if (attempt === undefined) orphans.set(job.scene, (orphans.get(job.scene) ?? 0) + 1);
    else if (attempt.scene !== job.scene) wrong.push(`${job.id} is on record for another scene`);
    else if (attempt.kind === 'quarantined' && setAside.has(job.scene)) continue;
    else wrong.push(...wrongFate(world, job, attempt));
  }
  for (const [scene, count] of orphans) {
    const declared = attempts.filter((row) => row.scene === scene && row.state === 'unanswered').length;
    if (count > declared)
      wrong.push(`${count} jobs of "${scene}" are not known, and ${declared} are declared`);
  }
  const made = new Set(world.service.jobs.map(({ id }) => id));
  for (const { job_id } of attempts)
    if (job_id !== null && !made.has(job_id)) wrong.push(`${job_id} is no job of the service`);
  return wrong;
}

/** What was paid for is collected, unless the service had deleted it or somebody had it cancelled. */
function wrongFate(world: World, job: FakeJob, { state, kind, settled_at }: AttemptRow): string[] {
  const is = kind === null ? state : `${state} ${kind}`;
  const should = fates(job, settled_at ?? Infinity);
  if (is === 'expired given-up' && job.endpoint.baseUrl !== latestAddress(world)) return [];
  return should.includes(is) ? [] : [`${job.id} of "${job.scene}" is ${is}, not ${should.join(' or ')}`];
}

function fates(job: FakeJob, settledAt: number): string[] {
  const { failure, pictures = [] } = job.plan;
  // The answer of one that waited for a setting was kept.
  if (settledAt >= job.completesAt + retentionMs)
    return [job.plan.place === undefined ? 'expired expired' : 'saved'];
  if (job.isCancelled) return ['failed job-cancelled', 'failed cancelled', 'failed job-overdue'];
  if (settledAt < job.completesAt) return ['failed job-overdue'];
  if (failure !== undefined) return [`failed ${failure.kind}`];
  const bad = pictures.find((one) => 'base64' in one && Buffer.from(one.base64, 'base64').includes('bad'));
  if (bad === undefined) return ['saved'];
  return [bad.named === undefined ? 'failed bad-picture' : 'failed bad-file'];
}

function latestAddress(world: World): string | undefined {
  return world.rows<{ base_url: string }>('SELECT base_url FROM attempts ORDER BY attempt DESC LIMIT 1')[0]
    ?.base_url;
}

interface PictureRow {
  job_id: string;
  file: string;
  number: number;
}

/** Every picture on record is there with what its job made; every saved scene has one; and no other file is there. */
function wrongPictures(seen: Seen, undisturbed: Seen): string[] {
  const { world } = seen;
  const { files } = world.images;
  const recorded = world.rows<PictureRow>(
    'SELECT a.job_id, p.file, p.number FROM pictures p JOIN attempts a USING (attempt)',
  );
  const wrong = recorded.flatMap(({ job_id, file, number }) => {
    const made = madeBy(world, job_id, number);
    return files.get(file) === made ? [] : [`${file} is ${files.get(file)}, not ${made}`];
  });
  const names = new Set(recorded.map(({ file }) => file));
  // The last death with a scene that is set aside may have come between its picture and its record.
  const isExplained = quarantined(seen).size > 0;
  for (const file of files.keys())
    if (!isExplained && !names.has(file) && !/\.(?:damaged|former)$/.test(file))
      wrong.push(`${file} is on no record`);
  // A death leaves no more old pictures than there are undisturbed.
  for (const file of files.keys())
    if (file.includes('.former') && !undisturbed.world.images.files.has(file)) wrong.push(`${file} is kept`);
  const bare = world.rows<{ id: string }>(`
    SELECT id FROM scenes s WHERE state = 'saved'
      AND NOT EXISTS (SELECT 1 FROM attempts a JOIN pictures USING (attempt) WHERE a.scene = s.scene)`);
  const jobs = world.rows<{ job_id: string; saved: number }>(
    'SELECT a.job_id, count(*) AS saved FROM pictures p JOIN attempts a USING (attempt) GROUP BY attempt',
  );
  const halves = jobs.filter(({ job_id, saved }) => saved !== filesOf(world, job_id));
  return [
    ...wrong,
    ...bare.map(({ id }) => `${id} is saved without a picture`),
    ...halves.map(({ job_id, saved }) => `of ${job_id} ${saved} files are saved, which is not all`),
  ];
}

function filesOf({ service }: World, jobId: string): number {
  const job = service.jobs.find(({ id }) => id === jobId);
  return job?.plan.pictures?.length ?? 1;
}

function madeBy({ service }: World, jobId: string, number: number): string {
  const job = service.jobs.find(({ id }) => id === jobId);
  const picture = job?.plan.pictures?.[number - 1];
  if (picture === undefined) return `picture of ${jobId}`;
  if ('url' in picture) return `picture at ${picture.url}`;
  return 'base64' in picture ? Buffer.from(picture.base64, 'base64').toString() : '';
}

/** Unanswered are those that were being sent at a death and those whose answer got lost: no fewer, no more. */
function wrongUnanswered({ world, intendedAtDeaths }: Seen): string[] {
  const unanswered = attemptsOf(world).filter(({ state }) => state === 'unanswered').length;
  const lost = world.service.jobs.filter((job) => job.plan.isAnswerLost).length;
  const intended = intendedAtDeaths.size;
  if (unanswered >= intended && unanswered <= intended + lost) return [];
  return [`${unanswered} are unanswered; ${intended} were intended at deaths, ${lost} answers lost`];
}

/** Nothing was paid twice: a death adds the submissions that it left unanswered, and nothing else. */
function wrongCount({ moreJobs = () => 0 }: Scenario, seen: Seen, undisturbed: Seen): string[] {
  const unansweredOf = ({ world }: Seen): number =>
    attemptsOf(world).filter(({ state }) => state === 'unanswered').length;
  const more = unansweredOf(seen) - unansweredOf(undisturbed) + moreJobs(seen.deaths);
  const most = undisturbed.world.service.jobs.length + more;
  const made = seen.world.service.jobs.length;
  return made <= most ? [] : [`${made} jobs were made, and ${most} are explained`];
}

function wrongDeaths({ world, inHandAtDeaths }: Seen): string[] {
  const blamed = world.rows<{ scene: string; deaths: number }>(
    "SELECT json_extract(input, '$.scene') AS scene, deaths FROM scenes WHERE deaths > 0",
  );
  const wrong = blamed
    .filter(({ scene, deaths }) => deaths > (inHandAtDeaths.get(scene) ?? 0))
    .map(({ scene, deaths }) => `${deaths} deaths are held against "${scene}"`);
  return world.marks.length === 0 ? wrong : [...wrong, 'marks of what was in hand are left over'];
}

/** Answers are kept of jobs in flight, and of no others. */
function wrongAnswers({ world }: Seen): string[] {
  const inFlight = world.rows<{ attempt: number }>("SELECT attempt FROM attempts WHERE state = 'submitted'");
  const open = new Set(inFlight.map(({ attempt }) => attempt));
  const left = [...world.answers.kept.keys()].filter((key) => !open.has(key));
  return left.map((key) => `the answer of attempt ${key} is still kept`);
}
