/**
 * Random JSON whose keys include names of `Object.prototype`, and names that the code looks for, with any
 * values.
 */
import * as fc from 'fast-check';

const inherited = 'toString __proto__ constructor valueOf toJSON hasOwnProperty length isLosslessNumber';
const lookedFor =
  'error errors error_type error_message message detail traceback code status ' +
  'image images data url seed seeds info all_seeds index_of_first_image';
const keys = `${inherited} ${lookedFor}`.split(' ');
const texts = [
  'error',
  'failed',
  '{"seed":12345678901234567890}',
  '[{"error":1}]',
  'a.png',
  'https://x',
  '{',
];

/** Objects have these keys as own properties, as parsed JSON does, including `__proto__`. */
export const hostileJson: fc.Arbitrary<unknown> = fc
  .letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6, depthSize: 'medium' },
      fc.oneof(fc.constantFrom(...texts), fc.constantFrom(null, true, -1, 1, 0.5, 1e40), fc.string()),
      fc.array(tie('value'), { maxLength: 4 }),
      fc
        .array(fc.tuple(fc.constantFrom(...keys), tie('value')), { maxLength: 5 })
        .map((entries): unknown => Object.fromEntries(entries)),
    ),
  }))
  .value.map((value): unknown => JSON.parse(JSON.stringify(value)));
