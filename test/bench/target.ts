/** A target of a scenario: what is to be reached, what was measured, and whether that reaches it. */

export interface Target {
  measure: string;
  wanted: string;
  /** In numbers, and as it is shown. */
  value: number;
  measured: string;
  isReached: boolean;
  /** What the peer reached, as it is shown; empty where it has no part in it. */
  peer: string;
}

interface Bound {
  atLeast?: number;
  atMost?: number;
  /** What would be better still; it decides nothing. */
  aim?: number;
}

interface Shown {
  unit: string;
  digits: number;
  /** What the value follows from, in words; the peer's as well. */
  from?: string;
  peer?: string;
}

export function target(measure: string, bound: Bound, value: number, shown: Shown): Target {
  const { atLeast = -Infinity, atMost = Infinity, aim } = bound;
  const show = (number: number): string => `${number.toFixed(shown.digits)}${shown.unit}`;
  const limit =
    bound.atLeast === undefined ? `≤ ${trimmed(atMost)}${shown.unit}` : `≥ ${trimmed(atLeast)}${shown.unit}`;
  return {
    measure,
    wanted: aim === undefined ? limit : `${limit}, aim ${trimmed(aim)}${shown.unit}`,
    value,
    measured: shown.from === undefined ? show(value) : `${show(value)} (${shown.from})`,
    // What could not be measured reaches nothing.
    isReached: value >= atLeast && value <= atMost,
    peer: shown.peer ?? '',
  };
}

function trimmed(number: number): string {
  return String(Number(number.toFixed(3)));
}
