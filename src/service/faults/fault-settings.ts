/** What is to go wrong: what faults.yaml asks for, and where a fault can be met. */

export const faultPlaces = ['submit', 'status', 'job', 'everything'] as const;

/**
 * - `submit`: requests that hand a job in
 * - `status`: requests that ask how a job stands
 * - `job`: how a job fares, whoever asks for it and how often
 * - `everything`: all requests of clients, those two and cancellation, health and the others
 */
export type FaultPlace = (typeof faultPlaces)[number];

export interface FaultSettings {
  /** The same seed and the same requests in the same order meet the same faults. */
  seed: number;
  /** The share, from 0 to 1, of the requests or jobs of a place that meet a fault, by the fault's name. */
  rates: Readonly<Record<FaultPlace, ReadonlyMap<string, number>>>;
  /** Looked at in their order, and before the rates. */
  script: readonly ScriptedFault[];
  /** How late a late answer is, and how long a dripping one takes. */
  lateMs: number;
  /** How much longer a slow job seems to take. */
  slowMs: number;
  /** How long a job that is not known at first stays unknown. */
  freshMs: number;
}

/** A fault that is met by every request, or job, of which all that is said here is true. */
export interface ScriptedFault {
  at: FaultPlace;
  fault: string;
  /** The first and the last of those of its place, counted from 1 since the service was started. */
  nth: { first: number; last: number } | null;
  /** Requests about the job that was accepted as the so many-th since the service was started. */
  job: number | null;
  /** Jobs with this text in their input. */
  match: string | null;
  /** From and until so long after the service was started. */
  fromMs: number;
  untilMs: number;
}

export interface ClockedSettings extends FaultSettings {
  /** Monotonic ms. */
  now: () => number;
}
