/** Whether the service still answers, for each of its operations. */

/** What was heard of an operation of late; instants are monotonic ms. */
export interface ReachabilityState {
  /** Requests in a row that brought no readable answer. */
  silent: number;
  /** When the first of them was given up; of no meaning where there is none. */
  silentSince: number;
}

export const heard: ReachabilityState = { silent: 0, silentSince: 0 };

export function withSilence(contact: ReachabilityState, now: number): ReachabilityState {
  return { silent: contact.silent + 1, silentSince: contact.silent === 0 ? now : contact.silentSince };
}

/** One lost answer is the network's everyday; so many in a row, one after the other, are not. */
const enoughSilence = 5;
/** Jobs that nobody can ask for are finished and deleted unseen: submissions wait once it lasts this long. */
const blindAfterMs = 60_000;

/** Whether requests are better sent one at a time until one is answered. */
export function isLost(contact: ReachabilityState): boolean {
  return contact.silent >= enoughSilence;
}

/** Requests that brought nothing since contact was lost, the one with which it was included. */
export function silentSinceLost(contact: ReachabilityState): number {
  return Math.max(0, contact.silent - enoughSilence + 1);
}

/** Whether status requests have brought nothing for so long that nothing should be submitted. */
export function isBlind(contact: ReachabilityState, now: number): boolean {
  return isLost(contact) && silentForMs(contact, now) >= blindAfterMs;
}

/** 0 where the latest request was answered. */
export function silentForMs(contact: ReachabilityState, now: number): number {
  return contact.silent === 0 ? 0 : now - contact.silentSince;
}
