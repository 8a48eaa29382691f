/** Prompts in the forms that benchmarks of text-to-image models use, made by seed, with what is true of each. */
import { createRandom, type Random } from '../../../src/renderers/random.ts';

/**
 * The eighty object classes of MS COCO (Lin and others, "Microsoft COCO: Common Objects in Context", 2014), its mouse,
 * remote and keyboard named as GenEval (Ghosh and others, 2023) names them: each with its plural where that is not its
 * name and an s, and after a colon the thing that draws it.
 */
const classTable = `person|people:person, bicycle:bicycle, car:car, motorcycle:motorcycle, airplane:plane,
bus|buses:bus, train:train, truck:truck, boat:boat, traffic light:trafficlight, fire hydrant:hydrant, stop sign:stopsign,
parking meter:parkingmeter, bench|benches:bench, bird:bird, cat:cat, dog:dog, horse:horse, sheep|sheep:sheep, cow:cow,
elephant:elephant, bear:bear, zebra:zebra, giraffe:giraffe, backpack:backpack, umbrella:umbrella, handbag:handbag,
tie:tie, suitcase:suitcase, frisbee:frisbee, skis|skis:skis, snowboard:snowboard, sports ball:ball, kite:kite,
baseball bat:baseballbat, baseball glove:baseballglove, skateboard:skateboard, surfboard:surfboard,
tennis racket:racket, bottle:bottle, wine glass|wine glasses:glass, cup:cup, fork:fork, knife|knives:knife, spoon:spoon,
bowl:bowl, banana:banana, apple:apple, sandwich|sandwiches:sandwich, orange:fruit, broccoli:broccoli, carrot:carrot,
hot dog:hotdog, pizza:pizza, donut:donut, cake:cake, chair:chair, couch|couches:sofa, potted plant:pottedplant, bed:bed,
dining table:table, toilet:toilet, tv:tv, laptop:laptop, computer mouse|computer mice:computermouse, tv remote:remote, computer keyboard:keyboard,
cell phone:phone, microwave:microwave, oven:oven, toaster:toaster, sink:sink, refrigerator:fridge, book:book,
clock:clock, vase:vase, scissors|scissors:scissors, teddy bear:teddybear, hair drier:hairdrier, toothbrush|toothbrushes:toothbrush`;

export interface ObjectClass {
  name: string;
  plural: string;
  noun: string;
}

export const objectClasses: readonly ObjectClass[] = classTable.split(/,\s/).map((entry) => {
  const [names = '', noun = ''] = entry.split(':');
  const [name = '', plural = `${name}s`] = names.split('|');
  return { name, plural, noun };
});

const numbers = ['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'] as const;
const colours = [
  'red',
  'orange',
  'yellow',
  'green',
  'blue',
  'purple',
  'pink',
  'brown',
  'black',
  'white',
] as const;
const relations = { left: 'left of', right: 'right of', above: 'above', below: 'below' } as const;

export type Colour = (typeof colours)[number];
export type Side = keyof typeof relations;

export interface BenchmarkPrompt {
  text: string;
  wanted: { object: ObjectClass; count: number; colour: Colour | null }[];
  /** Where the first is from the second. */
  side: Side | null;
}

/** First every class alone, then the other forms in turn. */
export function benchmarkPrompts(count: number, seed: string): BenchmarkPrompt[] {
  const random = createRandom(seed);
  const makers = [twoObjects, number, oneColour, twoColours, relation];
  return Array.from({ length: count }, (_, index) => {
    const object = objectClasses[index];
    const make = makers[index % makers.length] ?? twoObjects;
    return object === undefined ? make(random) : oneObject(object);
  });
}

function oneObject(object: ObjectClass): BenchmarkPrompt {
  const wanted = [{ object, count: 1, colour: null }];
  return { text: `a photo of ${withArticle(object.name)}`, wanted, side: null };
}

function twoObjects(random: Random): BenchmarkPrompt {
  const [one, other] = twoOf(objectClasses, random);
  const text = `a photo of ${withArticle(one.name)} and ${withArticle(other.name)}`;
  return { text, wanted: [one, other].map(plainly), side: null };
}

function number(random: Random): BenchmarkPrompt {
  const [object] = twoOf(objectClasses, random);
  const index = random.whole(0, numbers.length - 1);
  const wanted = [{ object, count: index + 2, colour: null }];
  return { text: `a photo of ${numbers[index] ?? ''} ${object.plural}`, wanted, side: null };
}

function oneColour(random: Random): BenchmarkPrompt {
  const [object] = twoOf(objectClasses, random);
  const [colour] = twoOf(colours, random);
  const text = `a photo of ${withArticle(`${colour} ${object.name}`)}`;
  return { text, wanted: [{ object, count: 1, colour }], side: null };
}

function twoColours(random: Random): BenchmarkPrompt {
  const [objects, said] = [twoOf(objectClasses, random), twoOf(colours, random)];
  const wanted = objects.map((object, index) => ({ object, count: 1, colour: said[index] ?? null }));
  const [one, other] = wanted.map(({ object, colour }) => withArticle(`${colour ?? ''} ${object.name}`));
  return { text: `a photo of ${one ?? ''} and ${other ?? ''}`, wanted, side: null };
}

function relation(random: Random): BenchmarkPrompt {
  const [one, other] = twoOf(objectClasses, random);
  const side = random.pick<Side>(['left', 'right', 'above', 'below']);
  const text = `a photo of ${withArticle(one.name)} ${relations[side]} ${withArticle(other.name)}`;
  return { text, wanted: [one, other].map(plainly), side };
}

function plainly(object: ObjectClass): BenchmarkPrompt['wanted'][number] {
  return { object, count: 1, colour: null };
}

function twoOf<Item>(items: readonly Item[], random: Random): [Item, Item] {
  const first = random.whole(0, items.length - 1);
  const second = (first + random.whole(1, items.length - 1)) % items.length;
  return [items[first] as Item, items[second] as Item];
}

function withArticle(words: string): string {
  return `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`;
}
