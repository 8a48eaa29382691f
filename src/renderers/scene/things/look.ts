/** How one thing looks: what was said of its colours and its material, and chance for what was not. */
import { namedColours, rgb, type ColourName } from '../../colour.ts';
import type { Random } from '../../random.ts';
import type { Material } from '../../language/other-words.ts';
import type { Paint } from './parts.ts';

export interface Look {
  /** The paint of its body: as said, else this colour and material. */
  main(usual: string, material?: Material): Paint;
  /** Of its second colour. */
  trim(usual: string, material?: Material): Paint;
  /** What has its own colour whatever was said: wheels, eyes, windows. */
  own(colour: string, material?: Material): Paint;
  random: Random;
}

export interface SaidLook {
  colours: readonly ColourName[];
  trim: readonly ColourName[];
  material: Material | null;
}

export function lookOf(said: SaidLook, random: Random): Look {
  const [first, second] = said.colours;
  const trim = said.trim[0] ?? second;
  const own = (colour: string, material: Material = 'matt'): Paint => ({ colour: rgb(colour), material });
  return {
    main: (usual, material = 'matt') => ({
      colour: first === undefined ? tintOf(said.material, usual) : namedColours[first],
      material: said.material ?? material,
    }),
    trim: (usual, material = 'matt') =>
      trim === undefined ? own(usual, material) : { colour: namedColours[trim], material },
    own,
    random,
  };
}

const tints: Partial<Record<Material, string>> = {
  metal: '#b4b8be',
  gold: '#e2a93b',
  silver: '#d4d7dc',
  glass: '#bfe3ea',
  wood: '#9a6a3f',
  stone: '#a09a90',
  brick: '#a4553f',
};

function tintOf(material: Material | null, usual: string): Paint['colour'] {
  return rgb((material === null ? undefined : tints[material]) ?? usual);
}
