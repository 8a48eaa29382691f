/** Thrown if a result does not count, with the reason. Speed without correctness is no result. */
export class Refusal extends Error {}
