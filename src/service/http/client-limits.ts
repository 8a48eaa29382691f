/** How slow clients may be before their connections are cut: each connection and each text costs the others something. */

export interface ClientLimits {
  /** For the head of a request, from the connection's beginning or the answer before. */
  headMs: number;
  /** A connection on which nothing moves is closed, whoever should be sending. */
  idleMs: number;
  /** Between two requests: longer than clients keep an idle connection, so that they and not the service close it. */
  keepAliveMs: number;
  /** An answer is to be read within this, and in the time that it takes at the pace below. */
  readingMs: number;
  bytesReadPerSecond: number;
  /** How long a client that is refused may go on sending, so that it comes to read why. */
  drainMs: number;
  /** How long answers on their way may go on when the service ends. */
  closingMs: number;
  /** How often requests are looked through for those that take too long. */
  checkEveryMs: number;
}

export const defaultClientLimits: ClientLimits = {
  headMs: 10_000,
  idleMs: 120_000,
  keepAliveMs: 60_000,
  readingMs: 120_000,
  bytesReadPerSecond: 20_000,
  drainMs: 2_000,
  closingMs: 5_000,
  checkEveryMs: 5_000,
};
