/** How fast requests may follow each other: within the service's limits, slower while it says that it is too much. */

/** A key of `rate` in pipeline.yaml. */
export interface RequestRate {
  /** Requests on their way at the same moment. */
  atOnce: number;
  /** Requests sent within any ten seconds. */
  perTenSeconds: number;
}

/** The pace of one operation; instants are monotonic ms. */
export interface Pace {
  /** Requests a second at present. */
  perSecond: number;
  /** Requests that could be sent right away at `at`; below 1 the next one waits. */
  room: number;
  at: number;
  /** Tells answers to what was sent since the pace was last slowed from those to what was sent before. */
  epoch: number;
  heard: Heard;
  /** Of the epoch before, whose answers still arrive. */
  heardBefore: Heard & { perSecond: number };
  /** When the latest request was sent. */
  sentAt: number;
  /** The present window: since when, and whether useful answers and refusals came in it. */
  windowAt: number;
  wasAnswered: boolean;
  wasRefused: boolean;
  /** Refusals since the latest useful answer: after the first they indicate a number, not a rate. */
  inARow: number;
  /** Windows since the pace was slowed in which nothing was too much. */
  calm: number;
  stretches: Stretches;
  /** The share that is refused at any pace, as was found out; forgotten at `scatterUntil`, to be tried once more. */
  scatter: number;
  scatterUntil: number;
}

/** Answers, and how many of them said that it was too much: the latest weigh most. */
interface Heard {
  answers: number;
  overloads: number;
}

const nothing: Heard = { answers: 0, overloads: 0 };

/** Of ten seconds' requests so many may come in a burst and the rest evenly: in no ten seconds there are more. */
const burstShare = 0.01;
/** Where anything was refused, no more than this time's requests may be sent at once: who came late, not a burst. */
const shortBurstMs = 25;
const slowestPerSecond = 0.5;
const windowMs = 1_000;
/** Below what was borne, so that what has piled up at the service gets done. */
const easing = 0.95;
/** So few refusals among the answers are not worth slowing down for. */
const strayShare = 0.01;
/** In turns of the pace. */
const closeBy = 1.5;
/** Fewer answers show nothing. */
const minAnswers = 10;
/** Nor do fewer refusals. */
const enoughOverloads = 3;
/** What was answered longer ago weighs half, and half again. */
const memory = 200;
/** Growth in the first window after a slowing, and how growth grows with each calm window: careful near what was refused. */
const firstGrowth = 0.01;
const growthOfGrowth = 1.3;
/** So many in a row are not scattered, nor so improbable a row: where a window is full, all are refused until it is over. */
const tooManyInARow = 6;
const hardlyEver = 1e-5;
/** So long nothing is slowed for a share that is refused at any pace: others use up what the service allows. */
const scatterLastsMs = 60_000;

export function fullPace(rate: RequestRate, now: number): Pace {
  const perSecond = fastest(rate);
  return {
    perSecond,
    room: burst(rate),
    at: now,
    epoch: 0,
    heard: nothing,
    heardBefore: { ...nothing, perSecond },
    sentAt: -Infinity,
    windowAt: now,
    wasAnswered: false,
    wasRefused: false,
    inARow: 0,
    calm: 0,
    stretches: noStretches(now),
    scatter: 0,
    scatterUntil: -Infinity,
  };
}

/** The pace where others come to share what the service allows, or leave. */
export function withRate(pace: Pace, before: RequestRate, rate: RequestRate): Pace {
  const factor = fastest(rate) / fastest(before);
  const room = Math.min(pace.room, burst(rate));
  return { ...pace, perSecond: pace.perSecond * factor, room, stretches: noStretches(pace.at) };
}

/** The pace with the room that came since the last update. */
export function paceAt(pace: Pace, rate: RequestRate, now: number): Pace {
  const isRefused = pace.heard.overloads > 0 || pace.perSecond < fastest(rate);
  const most = isRefused ? Math.max(1, (pace.perSecond * shortBurstMs) / 1000) : Infinity;
  const room = Math.min(most, burst(rate), pace.room + (pace.perSecond * (now - pace.at)) / 1000);
  return { ...pace, room, at: now };
}

/** Ms until one more request may be sent. */
export function untilRoomMs(pace: Pace): number {
  return pace.room >= 1 ? 0 : Math.ceil(((1 - pace.room) / pace.perSecond) * 1000);
}

/** Whether one more request would follow the latest about as closely as the pace allows; if not, it is none too fast. */
export function isClose(pace: Pace): boolean {
  return ((pace.at - pace.sentAt) * pace.perSecond) / 1000 <= closeBy;
}

export function withSent(pace: Pace): Pace {
  return { ...pace, room: pace.room - 1, sentAt: pace.at };
}

/** A useful answer came to a request that was sent in `epoch`; undefined where it was sent too slowly to tell of the pace. */
export function withAnswer(pace: Pace, rate: RequestRate, now: number, epoch: number | undefined): Pace {
  const current = { ...withCount(withWindow(pace, rate, now), false, now), wasAnswered: true, inARow: 0 };
  return epoch === undefined ? current : withHeard(current, epoch, 0);
}

/**
 * The service said that it is too much to a request that was sent in `epoch`. Where that was more than a stray answer,
 * the pace is slowed to a little less than what was borne of it, and to half at most. What was on its way by then still
 * tells how much that is, and slows it no further than to that.
 */
export function withOverload(pace: Pace, rate: RequestRate, now: number, epoch: number): Pace {
  const inARow = pace.inARow + 1;
  const refused = withoutScatter(withCount({ ...withWindow(pace, rate, now), inARow }, true, now), now);
  const isRow = inARow === tooManyInARow && scatterOf(pace, now) === 0;
  if (inARow > 1 && !isRow) return refused;
  const current = withHeard(refused, epoch, isRow ? 2 : 1);
  if (isScatter(current, now)) return current;
  const slowing = { ...current, wasRefused: true };
  const { heard, heardBefore, perSecond } = current;
  if (epoch === current.epoch - 1) {
    return { ...slowing, perSecond: Math.min(perSecond, borneOf(heardBefore.perSecond, heardBefore)) };
  }
  const isStray =
    heard.answers < minAnswers || shareOf(heard) < strayShare || heard.overloads < enoughOverloads;
  return epoch !== current.epoch || isStray ? slowing : slowed(slowing);
}

/** What is refused at any pace, as far as is known. */
export function scatterOf({ scatter, scatterUntil }: Pace, now: number): number {
  return now < scatterUntil ? scatter : 0;
}

function withoutScatter(pace: Pace, now: number): Pace {
  const scatter = scatterOf(pace, now);
  const isRow = pace.inARow >= tooManyInARow && scatter ** pace.inARow < hardlyEver;
  if (scatter > 0 && !isRow) return pace;
  return { ...pace, wasRefused: true, scatterUntil: isRow ? now : pace.scatterUntil };
}

function slowed(pace: Pace): Pace {
  const { epoch, heard, perSecond } = pace;
  return {
    ...pace,
    perSecond: borneOf(perSecond, heard),
    room: Math.min(pace.room, 1),
    epoch: epoch + 1,
    heard: nothing,
    heardBefore: { ...heard, perSecond },
    calm: 0,
  };
}

/** Counts an answer. Where it shows that a share is refused at any pace, the pace is again what it was. */
function withCount(pace: Pace, isRefused: boolean, now: number): Pace {
  const isInRow = isRefused && pace.inARow > 1;
  const answer = { isRefused, isInRow, perSecond: pace.perSecond };
  const { stretches, chance } = withCounted(pace.stretches, answer, now);
  if (chance === undefined) return { ...pace, stretches };
  const { share: scatter, perSecond } = chance;
  return { ...pace, stretches, perSecond, scatter, scatterUntil: now + scatterLastsMs, heard: nothing };
}

/** Whether no more is refused than what is refused at any pace. */
function isScatter({ scatter, scatterUntil, heard }: Pace, now: number): boolean {
  if (now >= scatterUntil) return false;
  return heard.answers < 5 * minAnswers || shareOf(heard) < 2 * scatter + 3 * strayShare;
}

function shareOf({ answers, overloads }: Heard): number {
  return overloads / answers;
}

function borneOf(perSecond: number, heard: Heard): number {
  return Math.max(slowestPerSecond, perSecond * Math.max(0.5, easing * (1 - shareOf(heard))));
}

function withHeard(pace: Pace, epoch: number, overloads: number): Pace {
  if (epoch === pace.epoch) return { ...pace, heard: more(pace.heard, overloads) };
  if (epoch !== pace.epoch - 1) return pace;
  const { perSecond } = pace.heardBefore;
  return { ...pace, heardBefore: { ...more(pace.heardBefore, overloads), perSecond } };
}

function more({ answers, overloads }: Heard, one: number): Heard {
  const weight = answers >= memory ? 0.5 : 1;
  return { answers: answers * weight + 1, overloads: overloads * weight + one };
}

/** Begins a new window where the present one is over; the pace grows after one in which nothing was too much. */
function withWindow(pace: Pace, rate: RequestRate, now: number): Pace {
  if (now - pace.windowAt < windowMs) return pace;
  const next = { ...pace, windowAt: now, wasAnswered: false, wasRefused: false };
  if (!pace.wasAnswered || pace.wasRefused) return next;
  const growth = Math.min(1, firstGrowth * growthOfGrowth ** pace.calm);
  const perSecond = Math.min(fastest(rate), pace.perSecond * (1 + growth));
  return { ...next, perSecond, calm: pace.calm + 1 };
}

function fastest({ perTenSeconds }: RequestRate): number {
  return ((1 - burstShare) * perTenSeconds) / 10;
}

function burst({ perTenSeconds }: RequestRate): number {
  return Math.max(1, burstShare * perTenSeconds);
}

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
interface Stretches {
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
  const most = Math.max(...stretches.past.map((it) => it.perSecond));
  return { stretches, chance: { share, perSecond: most } };
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
