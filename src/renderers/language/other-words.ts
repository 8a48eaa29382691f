/** Words of materials, relations and the camera, and those that only hold a sentence together. */

export type Material =
  | 'matt'
  | 'plastic'
  | 'metal'
  | 'gold'
  | 'silver'
  | 'glass'
  | 'wood'
  | 'stone'
  | 'brick'
  | 'cloth'
  | 'glossy'
  | 'glow';

export const materialWords: ReadonlyMap<string, Material> = wordMap<Material>({
  plastic: 'plastic rubber inflatable',
  metal: 'metal metallic steel iron chrome aluminium aluminum tin copper bronze brass',
  gold: 'gold',
  silver: 'silver',
  glass: 'glass crystal ice transparent',
  wood: 'wooden wood mahogany bamboo timber',
  stone: 'stone marble concrete granite rocky',
  brick: 'brick',
  cloth: 'cloth woolen knitted velvet leather fluffy furry plush fabric',
  glossy: 'shiny glossy polished porcelain ceramic wet lacquered',
  matt: 'matte matt clay paper cardboard',
  glow: 'glowing neon luminous lit',
});

export type Relation =
  'on' | 'in' | 'under' | 'above' | 'beside' | 'left' | 'right' | 'behind' | 'front' | 'around' | 'amid';

/** "A with B" places B from A; the others place A from B. */
export type SaidRelation = Relation | 'with';

/** Of the thing before them to the thing after them. */
export const relationWords: ReadonlyMap<string, SaidRelation> = wordMap<SaidRelation>({
  with: 'with holding wearing carrying',
  on: '@on on atop onto upon riding surfing',
  in: 'in inside into',
  under: 'under below beneath underneath',
  above: 'above over',
  beside: '@beside beside near by alongside adjacent against',
  left: '@left',
  right: '@right',
  behind: '@behind behind',
  front: '@front before',
  around: 'around encircling surrounding surounding circling',
  amid: '@amid amid among amidst between',
});

/** Of the thing before them to the one before that: "a truck with a horse on its left". */
export const backRelationWords: ReadonlyMap<string, Relation> = wordMap<Relation>({
  left: '@its-left',
  right: '@its-right',
  behind: '@its-behind @back',
  front: '@its-front @fore',
  beside: '@its-beside @row',
  on: '@its-on',
  under: '@its-under',
  around: '@its-around',
  above: '@its-above',
  in: '@its-in',
});

export type Camera = 'usual' | 'near' | 'far' | 'high' | 'low' | 'side';

export const cameraWords: ReadonlyMap<string, Camera> = wordMap<Camera>({
  near: '@near closeup macro portrait',
  far: '@far panorama panoramic distant wide',
  high: '@high aerial overhead birdseye isometric',
  low: '@low',
  side: '@side profile',
});

/** Say nothing by themselves; they are understood all the same. */
export const grammarWords: ReadonlySet<string> = new Set(
  'a an the and or of is are was were be being been that which who with at to from there it its his her their this these those very it s standing sitting lying stands sits lies sit stand resting placed parked some next it back'.split(
    ' ',
  ),
);

/** Of things that are no more than models, beside the painter's sizes. */
export const modelWords: ReadonlyMap<string, number> = new Map(
  Object.entries({ toy: 0.5, miniature: 0.5, mini: 0.6 }),
);

/** Parts of things that the painter does not know. */
export const smallPartWords: ReadonlySet<string> = new Set(
  'ribbon cushion cushions leaves petals cover top lid wheels label stripe shade'.split(' '),
);

/** Name the kind of picture, not what is in it. */
export const mediumWords: ReadonlySet<string> = new Set(
  'painting photo photograph picture image drawing illustration sketch view style render rendering scene portrait shot cartoon art print poster cover reflection logo background'.split(
    ' ',
  ),
);

function wordMap<Meaning extends string>(table: Partial<Record<Meaning, string>>): Map<string, Meaning> {
  const map = new Map<string, Meaning>();
  for (const [meaning, words] of Object.entries(table) as [Meaning, string][]) {
    for (const word of words.split(' ')) map.set(word, meaning);
  }
  return map;
}
