/** The error of a command that needs what another process holds. */

/**
 * Thrown if another process holds a file or folder that the command needs. The message names both, without a
 * full stop.
 */
export class InUse extends Error {}
