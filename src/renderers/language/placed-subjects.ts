/** The things of a prompt in the order of the text, each with its place relative to another if the prompt says it. */
import type { ColourName } from '../colour.ts';
import { type Noun, nounSet, type ThingNoun } from './nouns.ts';
import {
  colourWords,
  couldStand,
  drinkWords,
  isBareNoun,
  isPluralForm,
  type Material,
  materialWords,
  mediumWords,
  type Relation,
  type SaidRelation,
  singularOf,
  sizeWords,
} from './other-words.ts';

export interface Subject extends Mention {
  noun: ThingNoun;
  /** Place relative to another subject, whose index is `to`. Places never form a circle. */
  place: { relation: Relation; to: number } | null;
}

/** A subject whose noun is null if it is unknown. Keeping it prevents its words from describing another thing. */
type Candidate = Omit<Subject, 'noun'> & { noun: ThingNoun | null };

const tableware = nounSet(
  'bowl cup plate bottle glass vase teapot candle lamp book laptop keyboard computermouse phone cake pizza sandwich fruit apple banana',
);
const openHolders = nounSet('vase bowl cup plate bucket');
const holders = new Set([...openHolders, ...nounSet('glass bottle can teapot')]);

const people = nounSet('person woman grandmother grandfather');
const faces = nounSet('person woman grandfather robot');
const formal = new Set(['suit', 'tuxedo']);
const inscribed = nounSet('sign wall shirt');

export const maxSubjects = 16;

export class PlacedSubjects {
  readonly list: Candidate[] = [];
  /** Relation read between two things, until the second one follows. */
  #relation: SaidRelation | null = null;
  /** Relation read before any thing: "on a table a ball". */
  #fronted: Subject['place'] = null;
  #isOfContents = false;
  /** Index of the subject that holds or wears the previous thing. */
  #owner: number | undefined;
  /** Indexes of the subjects that the next relation places. */
  #group: number[] = [];

  /** Returns the subjects with a known noun. One that was placed relative to an unknown one loses its place. */
  known(): Subject[] {
    const known = this.list.filter((subject): subject is Subject => subject.noun !== null);
    return known.map((subject) => {
      const host = subject.place === null ? undefined : this.list[subject.place.to];
      const to = known.findIndex((other) => other === host);
      return { ...subject, place: subject.place === null || to === -1 ? null : { ...subject.place, to } };
    });
  }

  relate(relation: SaidRelation): void {
    this.#relation = relation;
    this.#isOfContents = false;
  }

  /** True if the next thing may be worn or held too: "wearing a hat and". */
  isOwning(): boolean {
    return this.#owner !== undefined;
  }

  /** Forgets the relation, because its noun is not a thing. */
  dropRelation(): void {
    this.#relation = null;
  }

  endSentence(): void {
    this.#group = [];
    this.#relation = null;
    this.#owner = undefined;
  }

  isFull(): boolean {
    return this.list.length >= maxSubjects;
  }

  add(mention: Omit<Candidate, 'place'>): void {
    const index = this.list.length;
    if (this.#isDrink(mention)) return;
    // "In a shirt" does not mean inside of it.
    if (this.#relation === 'in' && mention.noun === 'shirt') this.#relation = 'with';
    const relation = this.#relation;
    this.#relation = null;
    if (this.#isClothing(mention, relation)) return;
    const subject: Candidate = { ...mention, place: null };
    this.list.push(subject);
    // "with a scarf and a hat", "with a cup and a plate"
    const held = this.#heldBy(this.list[this.#owner ?? -1]?.noun, mention.noun);
    const isWornToo = relation === null && held === 'on' && this.#owner !== undefined;
    if (relation === 'with' || isWornToo) return this.#placeWith(subject, index);
    this.#owner = undefined;
    if (relation === null) subject.place = this.#fronted;
    else if (this.#group.length === 0) this.#fronted = { relation, to: index };
    else {
      for (const member of this.#group) this.#place(member, relation, index);
      this.#fronted = null;
    }
    if (relation === null) this.#group.push(index);
    else this.#group = [index];
  }

  /** True if the phrase refers to an earlier subject, such as "the cat". Applies the waiting relation. */
  refer({ isDefinite, count, colours }: Phrase, noun: ThingNoun | null, word: string | null): boolean {
    const index = this.list.findLastIndex(
      (subject) =>
        subject.noun === noun &&
        (word === null || singularOf(subject.word) === word) &&
        colours.every((colour) => subject.colours.includes(colour)),
    );
    if (!isDefinite || count !== null || index === -1) return false;
    const relation = this.#relation;
    this.#relation = null;
    if (relation !== null && relation !== 'with')
      for (const member of this.#group) this.#place(member, relation, index);
    this.#group = [index];
    return true;
  }

  /** Places the last thing relative to the one before: "a truck with a horse on its left". */
  placeLast(relation: Relation): void {
    // "with toast on it": an unknown thing is not placed.
    if (this.#relation !== null) return this.dropRelation();
    const last = this.list.length - 1;
    const [subject, before] = [this.list[last], this.list[last - 1]];
    if (subject === undefined || before === undefined) return;
    const to = this.#group[0] !== undefined && this.#group[0] < last ? this.#group[0] : last - 1;
    if (!this.#leadsTo(to, last)) subject.place = { relation, to };
    for (const other of this.list.slice(0, last)) if (other.place?.to === last) other.place = null;
  }

  /** Reads "of" after a container: "a bowl of apples". */
  relateContents(): void {
    if (holders.has(this.list.at(-1)?.noun ?? 'house')) this.relate('with');
    this.#isOfContents = this.#relation === 'with';
  }

  /** Drops the relation of unknown contents: "a bowl of something, two apples" puts none into it. */
  endContents(): void {
    if (this.#isOfContents) this.#relation = null;
  }

  /** Writes words on the latest subject that can carry text. False if there is none. */
  inscribe(words: readonly string[]): boolean {
    const last = this.list.findLast(({ noun, text }) => noun !== null && inscribed.has(noun) && text === '');
    if (last === undefined) return false;
    last.text = words.join(' ');
    return true;
  }

  /** Clothes colour their wearer instead of being a thing. True if the noun is worn. */
  #isClothing({ noun, word, colours }: Omit<Candidate, 'place'>, relation: SaidRelation | null): boolean {
    const index = relation === 'with' ? this.#group.at(-1) : relation === null ? this.#owner : undefined;
    const wearer = this.list[index ?? -1];
    if (noun !== 'shirt' || !wearer?.noun || !people.has(wearer.noun)) return false;
    const said = colours.length === 0 && formal.has(word) ? (['black'] as const) : colours;
    wearer.colours = [...said, ...wearer.colours];
    this.#owner = index;
    return true;
  }

  /** "A cup of coffee" is a cup. True if the noun is only the content of a container. */
  #isDrink({ noun, word }: Omit<Candidate, 'place'>): boolean {
    const owner = this.list[this.#group.at(-1) ?? -1];
    if (
      this.#relation !== 'with' ||
      !drinkWords.has(word.split(' ').at(-1) ?? '') ||
      !holders.has(owner?.noun ?? 'house')
    )
      return false;
    if (noun === 'juice' && owner !== undefined) owner.noun = noun;
    this.#relation = null;
    return true;
  }

  /** Places what a thing holds: a hat, contents, or others beside it. The next relation is the owner's. */
  #placeWith(subject: Candidate, index: number): void {
    const owner = this.#group.at(-1);
    this.#owner = owner;
    if (owner === undefined) this.#group.push(index);
    else subject.place = { relation: this.#heldBy(this.list[owner]?.noun, subject.noun), to: owner };
  }

  #heldBy(owner: Candidate['noun'] | undefined, noun: Candidate['noun']): Relation {
    if (
      noun === 'hat' ||
      ((noun === 'sunglasses' || noun === 'bowtie') && owner && faces.has(owner)) ||
      (owner === 'table' && noun && tableware.has(noun))
    )
      return 'on';
    const isOpen = owner && noun && openHolders.has(owner) && !holders.has(noun);
    return isOpen ? 'in' : 'beside';
  }

  #place(member: number, relation: Relation, index: number): void {
    const subject = this.list[member];
    if (subject?.place === null && !this.#leadsTo(index, member)) subject.place = { relation, to: index };
  }

  #leadsTo(from: number, wanted: number): boolean {
    let at: number | undefined = from;
    for (let step = 0; at !== undefined && step <= maxSubjects; step += 1) {
      if (at === wanted) return true;
      at = this.list[at]?.place?.to;
    }
    return false;
  }
}

export interface Mention {
  noun: Noun;
  word: string;
  /** From 1 to `maxCount`. */
  count: number;
  /** True if the prompt gives the number. Otherwise a plural means a few. */
  isCounted: boolean;
  /** In the order of the prompt, main colour first. */
  colours: ColourName[];
  /** Colours of parts: "with a red roof". */
  trim: ColourName[];
  material: Material | null;
  /** Relative to the usual size, which is 1. */
  size: number;
  /** Text written on it; empty for none. */
  text: string;
}

export const maxCount = 50;
/** Number of things that a plural without a number means. */
const usualPlural = 3;

/** The words since the beginning of a phrase, until its noun follows: number, colours, material and size. */
export class Phrase {
  readonly isLed: boolean;
  count: number | null = null;
  colours: ColourName[] = [];
  material: Material | null = null;
  size = 1;
  isDenied = false;
  /** True after a comma that follows an unknown word, which may describe the next thing. */
  isPaused = false;
  wasNoun = false;
  /** True after "the", which may refer to something named before. */
  isDefinite = false;
  /** True after an article or a number. */
  isOfAThing = false;
  /** Unknown words; the last one may be the noun itself. */
  unknown: string[] = [];
  #isNamed = false;
  /** True if a verb follows a known noun ("a cat eating"), so the next word may be its object. */
  #isAfterVerb = false;

  /** `isLed`: a thing may follow without an article: first, or after "and", "of" or a relation. */
  constructor(isLed = false) {
    this.isLed = isLed;
  }

  /** Forgets the unknown words, because they have been read as something else. */
  take(): void {
    this.unknown = [];
    this.isOfAThing = false;
  }

  describe(word: string): boolean {
    const [colour, material, size] = [colourWords.get(word), materialWords.get(word), sizeWords.get(word)];
    if (colour !== undefined && !this.colours.includes(colour)) this.colours.push(colour);
    this.material = material ?? this.material;
    this.size = size ?? this.size;
    return colour !== undefined || material !== undefined || size !== undefined;
  }

  /** Adds an unknown word. A verb after the noun is not part of its name: "a clock ticking", "a clock strikes". */
  addUnknown(word: string): void {
    if (mediumWords.has(word)) return this.take();
    const noun = this.unknown.at(-1);
    this.#isAfterVerb ||= this.wasNoun && noun === undefined && word.endsWith('ing');
    const isVerb = /...(?:ing|ed)$/.test(word) || (this.count === 1 && isPluralForm(word));
    if (noun !== undefined && isBareNoun(noun) && couldStand(noun, true))
      this.#isNamed ||= isVerb || !couldStand(word, true);
    if (!this.#isNamed) this.unknown.push(word);
  }

  /** Returns the unknown word that is probably the noun, or null. */
  head(isBeforeArticle: boolean): string | null {
    // In "a gryphlet sees a cat", the word between two nouns is a verb.
    const isVerbLast = isBeforeArticle && this.unknown.length > 1 && !this.#isNamed;
    return this.unknown.at(isVerbLast ? -2 : -1) ?? null;
  }

  /** True if a word without an article can be a noun: "asparagus", "cats and gryphlets", "a cat eating soup". */
  couldName(word: string, isFirst: boolean): boolean {
    const isPlaced = this.isLed && (isFirst || isPluralForm(word));
    return isBareNoun(word) && (isPlaced || this.#isAfterVerb);
  }

  mentionOf<Named extends Noun | null>(
    noun: Named,
    word: string,
    isPlural: boolean,
  ): Omit<Mention, 'noun'> & { noun: Named } {
    const count = isPlural && this.count === 1 ? null : this.count;
    const { colours, material, size } = this;
    return {
      noun,
      word,
      count: Math.min(maxCount, count ?? (isPlural ? usualPlural : 1)),
      isCounted: count !== null,
      colours,
      trim: [],
      material,
      size,
      text: '',
    };
  }
}
