/** Replays property tests: what fast-check prints as `seed` on a failure, given as NIGHTRENDER_TEST_SEED, finds it again. */

const seed = process.env['NIGHTRENDER_TEST_SEED'];

if (seed !== undefined && seed !== '') {
  if (!/^-?\d+$/.test(seed)) throw new Error(`NIGHTRENDER_TEST_SEED is no whole number: ${seed}`);
  const { configureGlobal } = await import('fast-check');
  configureGlobal({ seed: Number(seed) });
}
