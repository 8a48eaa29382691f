/** A box with a name on it, in the place of a thing that has no shape here. */
import { singularOf } from '../../language/no-things.ts';
import { lengthOf, writable, written } from './letters.ts';
import { box, paintOf } from './parts.ts';
import { land, mainOf, type Thing } from './thing.ts';

const maxLetters = 14;
const margin = 0.16;
const usualLetter = 0.46;
const maxWide = 2.4;

export const label: Thing = {
  ...land,
  height: 0.8,
  build: (said, random) => {
    const main = mainOf(said, '#d9b483|#c9d3c0|#d8c3a5|#c3cfd9', random);
    const text = writable(singularOf(said.word)).slice(0, maxLetters).trim();
    const wide = Math.min(maxWide, Math.max(0.9, lengthOf(text) * usualLetter + 2 * margin));
    const letter = Math.min(usualLetter, (wide - 2 * margin) / lengthOf(text));
    const [red, green, blue] = main.colour;
    const ink = 0.3 * red + 0.59 * green + 0.11 * blue > 120 ? '#26262b' : '#f4f1e8';
    return [
      box([0, 0.4, 0], [wide, 0.8, 0.6], main, 0.05),
      ...written(text, [0, 0.4], 0.31, letter, paintOf(ink)),
    ];
  },
};
