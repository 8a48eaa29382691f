/** A result that does not count, and why: speed without correctness is no result. */
export class Refusal extends Error {}
