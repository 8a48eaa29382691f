/**
 * Rules that must hold after the crashes of a walk: those of the account, and those that compare with the
 * same scenario without crashes.
 */
import type { Books } from '../../../account/books.ts';
import { fatesOf, leftBy } from '../../../account/fake-world.ts';
import { defaultSettings } from '../../../fakes/world.ts';
import type { Scenario } from './scenario.ts';
import type { Seen } from './walk.ts';

/** Returns a sentence for every difference. `undisturbed` is the same scenario without a crash. */
export function differences(scenario: Scenario, seen: Seen, undisturbed: Seen): string[] {
  const setAside = quarantined(seen);
  const { world, books } = seen;
  const latestAddress = books.attempts.at(-1)?.base_url;
  const attempts = scenario.steps.map(({ settings }) => (settings?.retry ?? defaultSettings.retry).attempts);
  const wrong = seen.account.judge(leftBy(world), {
    command: 'run',
    end: 'over',
    attempts: Math.max(...attempts),
    fatesOf: (seenJob, row) => {
      const { job } = seenJob;
      if (row.kind === 'quarantined' && setAside.has(job.scene)) return ['failed quarantined'];
      if (row.kind === 'given-up' && job.endpoint.baseUrl !== latestAddress) return ['expired given-up'];
      return fatesOf(seenJob, row);
    },
  });
  return [
    ...seen.wrong,
    ...wrong,
    ...wrongEndings(scenario, seen, undisturbed),
    ...wrongScenes(books, undisturbed.books, setAside),
    ...wrongFormers(seen, undisturbed),
    ...wrongUnanswered(seen),
    ...wrongCount(scenario, seen, undisturbed),
    ...wrongDeaths(seen),
  ];
}

function wrongEndings({ steps }: Scenario, seen: Seen, undisturbed: Seen): string[] {
  const isSetAside = quarantined(seen).size > 0;
  return steps.flatMap(({ what }, i) => {
    const [is, was] = [seen.endings[i], undisturbed.endings[i]];
    // A job that is not cancelled goes on while the program is down, and may complete.
    const hasRunOn = what === 'cancel' && was === 'incomplete' && is === 'complete';
    return is === was || is === 'died' || hasRunOn || (isSetAside && is === 'incomplete')
      ? []
      : [`step ${i + 1} ended as ${is}, and undisturbed as ${was}`];
  });
}

/**
 * Returns the quarantined scenes that were in progress at three or more crashes. Only these may be
 * quarantined.
 */
function quarantined({ books, inHandAtDeaths }: Seen): Set<string> {
  const scenes = books.scenes.filter(({ kind }) => kind === 'quarantined').map(({ scene }) => scene);
  return new Set(scenes.filter((scene) => (inHandAtDeaths.get(scene) ?? 0) >= 3));
}

/** Each scene must end as it does without crashes, unless it was in progress at three crashes. */
function wrongScenes(now: Books, undisturbed: Books, setAside: ReadonlySet<string>): string[] {
  return undisturbed.scenes.flatMap((expected) => {
    const scene = now.scenes.find(({ id, scene: text }) => id === expected.id && text === expected.scene);
    const name = `"${expected.scene}"`;
    if (scene === undefined) return expected.state === 'withdrawn' ? [] : [`scene ${name} is lost`];
    if (setAside.has(scene.scene)) return [];
    if (scene.state === expected.state && scene.kind === expected.kind) return [];
    return [`${name} is ${scene.state} ${scene.kind}, and undisturbed ${expected.state} ${expected.kind}`];
  });
}

/** Crashes must not leave more `.former` pictures than the same scenario without crashes. */
function wrongFormers({ world }: Seen, undisturbed: Seen): string[] {
  return [...world.images.files.keys()]
    .filter((file) => file.includes('.former') && !undisturbed.world.images.files.has(file))
    .map((file) => `${file} is kept`);
}

/**
 * The unanswered submissions must be exactly those in flight at a crash, plus at most those whose answer was
 * lost.
 */
function wrongUnanswered({ world, books, intendedAtDeaths }: Seen): string[] {
  const unanswered = countUnanswered(books);
  const lost = world.service.jobs.filter((job) => job.plan.isAnswerLost).length;
  const intended = intendedAtDeaths.size;
  if (unanswered >= intended && unanswered <= intended + lost) return [];
  return [`${unanswered} are unanswered; ${intended} were intended at deaths, ${lost} answers lost`];
}

/** Nothing may be paid twice. A crash may add only the submissions that it left unanswered. */
function wrongCount({ moreJobs = () => 0 }: Scenario, seen: Seen, undisturbed: Seen): string[] {
  const more = countUnanswered(seen.books) - countUnanswered(undisturbed.books) + moreJobs(seen.deaths);
  const most = undisturbed.world.service.jobs.length + more;
  const made = seen.world.service.jobs.length;
  return made <= most ? [] : [`${made} jobs were made, and ${most} are explained`];
}

function countUnanswered({ attempts }: Books): number {
  return attempts.filter(({ state }) => state === 'unanswered').length;
}

function wrongDeaths({ world, books, inHandAtDeaths }: Seen): string[] {
  const wrong = books.scenes
    .filter(({ scene, deaths }) => deaths > (inHandAtDeaths.get(scene) ?? 0))
    .map(({ scene, deaths }) => `${deaths} deaths are held against "${scene}"`);
  return world.marks.length === 0 ? wrong : [...wrong, 'marks of what was in hand are left over'];
}
