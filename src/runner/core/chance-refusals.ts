/** Whether a share of the requests is refused however slowly they follow each other: told by comparing stretches of answers. */

/** Answers from `since` until there were enough refusals to tell what share it is; instants are monotonic ms. */
interface Stretch {
  since: number;
  lastsMs: number;
  answers: number;
  refusals: number;
  /** Of the refusals, those that followed another one. */
  inRows: number;
  /** The highest pace meanwhile. */
  perSecond: number;
}

/** The stretch that still lasts, and those before it, the latest first. */
export interface Stretches {
  present: Stretch;
  past: Stretch[];
}

interface Answer {
  isRefused: boolean;
  isInRow: boolean;
  /** The pace at present. */
  perSecond: number;
}

/** What is refused at any pace, and the highest pace at which that was seen. */
interface Chance {
  share: number;
  perSecond: number;
}

/** So many refusals, in no less than two seconds and not much more than ten, tell a share. */
const tellingRefusals = 5;
const shortestMs = 2_000;
const longestMs = 10_000;
/** So many stretches are remembered. */
const mostStretches = 10;
/** Shares that differ by no more than this factor are the same. */
const alike = 2.5;
/** Less by this factor is less, whatever chance does. */
const wellBelow = 0.9;
/** Refusals of which so many more follow another one than chance would have it come where something is full. */
const clump = 0.4;

export function noStretches(now: number): Stretches {
  return { present: stretchFrom(now), past: [] };
}

/** Counts an answer; `chance` where it shows that the pace is not the cause. */
export function withCounted(
  { present, past }: Stretches,
  { isRefused, isInRow, perSecond }: Answer,
  now: number,
): { stretches: Stretches; chance?: Chance } {
  const stretch = {
    since: present.since,
    lastsMs: now - present.since,
    answers: present.answers + 1,
    refusals: present.refusals + (isRefused ? 1 : 0),
    inRows: present.inRows + (isInRow ? 1 : 0),
    perSecond: Math.max(present.perSecond, perSecond),
  };
  const isTelling = stretch.lastsMs >= shortestMs && stretch.refusals >= tellingRefusals;
  if (!isTelling && stretch.lastsMs <= longestMs) return { stretches: { present: stretch, past } };
  if (!isTelling || isClumped(stretch)) return { stretches: { present: stretchFrom(now), past } };
  // Where much more is refused than before, a store that was taken then is used up.
  const comparable = past.filter((it) => ratioOf(stretch, it) < alike);
  const stretches = {
    present: stretchFrom(now),
    past: [stretch, ...comparable].slice(0, mostStretches),
  };
  const other = comparable.find((it) => isContrary(stretch, it));
  if (other === undefined) return { stretches };
  const share = (stretch.refusals + other.refusals) / (stretch.answers + other.answers);
  const fastest = Math.max(...stretches.past.map((it) => it.perSecond));
  return { stretches, chance: { share, perSecond: fastest } };
}

/** Whether the same share was refused though less was sent than was taken at the other time: it is not the pace. */
function isContrary(stretch: Stretch, other: Stretch): boolean {
  const taken = (other.answers - other.refusals) / other.lastsMs;
  const isAlike = ratioOf(stretch, other) > 1 / alike && stretch.refusals < stretch.answers;
  return isAlike && stretch.answers / stretch.lastsMs < wellBelow * taken;
}

/** How many times the share of the other one was refused. */
function ratioOf(stretch: Stretch, other: Stretch): number {
  return (stretch.refusals * other.answers) / (stretch.answers * other.refusals);
}

/** Whether the refusals came together, as where a window is full until it is over. */
function isClumped({ answers, refusals, inRows }: Stretch): boolean {
  const share = refusals / answers;
  return inRows / refusals > share + (1 - share) * clump;
}

function stretchFrom(since: number): Stretch {
  return { since, lastsMs: 0, answers: 0, refusals: 0, inRows: 0, perSecond: 0 };
}
