/** How fast requests may follow each other: within the service's limits, slower while it says that it is too much. */

export interface RateSettings {
  /** Requests on their way at the same moment. */
  atOnce: number;
  /** Requests sent within any ten seconds. */
  perTenSeconds: number;
}

/** The pace of one operation; instants are monotonic ms. */
export interface Pace {
  /** Requests a second at present. */
  perSecond: number;
  /** The rate that the service bore when it last said that it was too much: growth is quick below it, slow above. */
  bearable: number;
  /** Requests that could be sent right away at `at`; below 1 the next one waits. */
  room: number;
  at: number;
  /** What came back since `windowAt`, and useful answers a second in the window before. */
  windowAt: number;
  answers: number;
  overloads: number;
  isSlowed: boolean;
  answersBefore: number;
}

/** Of ten seconds' requests a tenth may come in a burst and the rest evenly: in no ten seconds there are more. */
const burstShare = 0.1;
const slowestPerSecond = 0.5;
const windowMs = 1_000;
/** Below what it bore, so that what has piled up at the service gets done. */
const easing = 0.9;
/** So few refusals among the answers are not worth slowing down for. */
const strayShare = 0.05;
const slowGrowth = 1.05;
const quickGrowth = 2;

export function fullPace(settings: RateSettings, now: number): Pace {
  const perSecond = fastest(settings);
  const window = { windowAt: now, answers: 0, overloads: 0, isSlowed: false, answersBefore: 0 };
  return { perSecond, bearable: perSecond, room: burst(settings), at: now, ...window };
}

/** The pace with the room that came since it was last looked at. */
export function paceAt(pace: Pace, settings: RateSettings, now: number): Pace {
  const most = Math.min(burst(settings), Math.max(1, pace.perSecond));
  const room = Math.min(most, pace.room + (pace.perSecond * (now - pace.at)) / 1000);
  return { ...pace, room, at: now };
}

/** Ms until one more request may be sent. */
export function untilRoomMs(pace: Pace): number {
  return pace.room >= 1 ? 0 : Math.ceil(((1 - pace.room) / pace.perSecond) * 1000);
}

export function withSent(pace: Pace): Pace {
  return { ...pace, room: pace.room - 1 };
}

/** A useful answer came. */
export function withAnswer(pace: Pace, settings: RateSettings, now: number): Pace {
  const current = withWindow(pace, settings, now);
  return { ...current, answers: current.answers + 1 };
}

/**
 * The service said that it is too much. Where that was more than a stray answer the pace is slowed, once in a window
 * however many say so, and to half at most: what little was sent before says little of what the service bears.
 */
export function withOverload(pace: Pace, settings: RateSettings, now: number): Pace {
  const current = withWindow(pace, settings, now);
  const overloads = current.overloads + 1;
  const share = overloads / (overloads + current.answers + current.answersBefore);
  if (share < strayShare || current.isSlowed) return { ...current, overloads };
  const borne = Math.min(pace.perSecond, Math.max(current.answersBefore, current.answers));
  return {
    ...current,
    overloads,
    isSlowed: true,
    perSecond: Math.max(slowestPerSecond, easing * borne, current.perSecond / 2),
    bearable: Math.max(slowestPerSecond, borne, borne > 0 ? current.bearable / 2 : current.bearable),
    room: Math.min(current.room, 1),
  };
}

/** Begins a new window where the present one is over; the pace grows after one in which nothing was too much. */
function withWindow(pace: Pace, settings: RateSettings, now: number): Pace {
  const lasted = now - pace.windowAt;
  if (lasted < windowMs) return pace;
  const growth = pace.perSecond < pace.bearable * easing ? quickGrowth : slowGrowth;
  const perSecond = Math.min(fastest(settings), pace.perSecond * growth);
  return {
    ...pace,
    ...(!pace.isSlowed && pace.answers > 0 && { perSecond, bearable: Math.max(pace.bearable, perSecond) }),
    windowAt: now,
    answers: 0,
    overloads: 0,
    isSlowed: false,
    answersBefore: (pace.answers * 1000) / lasted,
  };
}

function fastest({ perTenSeconds }: RateSettings): number {
  return ((1 - burstShare) * perTenSeconds) / 10;
}

function burst({ perTenSeconds }: RateSettings): number {
  return Math.max(1, burstShare * perTenSeconds);
}
