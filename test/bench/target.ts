/** A target of a scenario: the limit, the measured value, and whether the value meets the limit. */

export interface Target {
  measure: string;
  wanted: string;
  /** The measured value, as a number and as text. */
  value: number;
  measured: string;
  isReached: boolean;
  /** Value of the peer as text. Empty if the peer has none. */
  peer: string;
}

interface Bound {
  atLeast?: number;
  atMost?: number;
  /** A better value that would be desirable. It is shown but decides nothing. */
  aim?: number;
}

interface Shown {
  unit: string;
  digits: number;
  /** Values from which the measured one was computed, as text. `peer`: value of the peer, as text. */
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
    // A value that could not be measured is NaN, which meets no limit.
    isReached: value >= atLeast && value <= atMost,
    peer: shown.peer ?? '',
  };
}

function trimmed(number: number): string {
  return String(Number(number.toFixed(3)));
}
