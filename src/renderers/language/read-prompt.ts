/** A prompt → its subjects and where they are, the land, the sky and the light, with every word accounted for; pure. */
import { endsPause, isAdjective, isUnknown } from './in-between.ts';
import { isSky, isThing, nounOf, nounSet, type KnownNoun, type Noun } from './nouns.ts';
import * as known from './other-words.ts';
import type { Camera, Season, TimeOfDay } from './other-words.ts';
import { couldStand, isBareNoun, isPluralForm, singularOf } from './no-things.ts';
import { maxCount, Phrase, type Mention } from './phrase.ts';
import { PlacedSubjects, type Subject } from './placed-subjects.ts';
import { isSign, tokensOf, type Token } from './tokens.ts';

export interface Prompt {
  /** Everything that is named: things, the land, the sky and the weather, in the order they were said. */
  mentions: Mention[];
  /** The things among them, with their places. */
  subjects: Subject[];
  /** What the prompt says is not there. */
  denied: Noun[];
  time: TimeOfDay | null;
  season: Season | null;
  camera: Camera;
  /** Words of things that have no shape here, and stand as boxes with their names. */
  labelledWords: string[];
  /** Words that changed nothing, in the order they were said, each once. */
  ignoredWords: string[];
  /** What is shown otherwise than it was said, in sentences. */
  notes: string[];
}

/** So many kinds of things that have no shape here stand as boxes. */
const maxLabelled = 6;

/** Beyond this many words the rest of a text is listed as ignored. */
const maxWords = 400;

export function readPrompt(text: string): Prompt {
  const reader = new Reader();
  const tokens = tokensOf(text);
  const read = tokens.slice(0, maxWords);
  for (const [index, token] of read.entries()) {
    reader.read(token, read[index + 1]?.word ?? '', read[index + 2]?.word ?? '');
  }
  reader.endPhrase();
  for (const token of tokens.slice(maxWords)) reader.ignore(token);
  return reader.prompt();
}

class Reader {
  readonly #subjects = new PlacedSubjects();
  readonly #mentions: Mention[] = [];
  readonly #denied: Noun[] = [];
  readonly #labelled = new Set<string>();
  readonly #ignored = new Set<string>();
  readonly #notes: string[] = [];
  #time: TimeOfDay | null = null;
  #season: Season | null = null;
  #camera: Camera = 'usual';
  #phrase = new Phrase();
  #isMadeOf = false;
  /** What follows is a name: "in the style of". */
  #isOfAnArtist = false;

  constructor() {
    this.#phrase.isLed = true;
  }

  prompt(): Prompt {
    return {
      mentions: this.#mentions,
      subjects: withSolids(this.#subjects.known()),
      denied: this.#denied,
      time: this.#time,
      season: this.#season,
      camera: this.#camera,
      labelledWords: [...this.#labelled],
      ignoredWords: [...this.#ignored],
      notes: this.#notes,
    };
  }

  read(token: Token, next: string, afterNext: string): void {
    const { word } = token;
    const noun = nounOf(word);
    if (this.#readArtist(token, next)) return;
    if (this.#phrase.isPaused && endsPause(word, noun)) this.endPhrase();
    if (isSign(word)) this.#readSign(word);
    else if (next === 'shaped') this.ignore(token);
    else if (this.#readMadeOf(word) || this.#readRelation(word)) return;
    else if (this.#readTime(word) && noun === undefined) this.#readTimeAfter(token);
    else if (isAdjective(word, next, afterNext, this.#phrase.isOfAThing) && this.#readAdjective(word)) return;
    else if (word === 'glasses' && this.#phrase.count === null) this.ignore(token);
    else if (noun !== undefined) this.#readNoun(noun, token, next);
    else if (this.#readAdjective(word)) return;
    else if (this.#readPlace(token)) this.#phrase.take();
    else if (!this.#readGrammar(word, next)) this.#readUnknown(token);
  }

  ignore({ said }: Token): void {
    for (const word of said) if (!isSign(word)) this.#ignored.add(word);
  }

  /** A thing that has no shape here stands as a box with its name, where it is clear that the words speak of a thing. */
  endPhrase(isBeforeArticle = false): void {
    const phrase = this.#phrase;
    this.#phrase = new Phrase();
    // "a gryphlet sees a cat": what stands between two nouns is a verb.
    const isVerbLast = isBeforeArticle && phrase.unknown.length > 1 && !phrase.isNamed;
    const word = phrase.unknown.at(isVerbLast ? -2 : -1);
    if (word === undefined || phrase.isDenied) return;
    const isFirst = this.#subjects.list.length === 0 && this.#mentions.every(({ noun }) => isSky(noun));
    const isNoun = phrase.isLed && isBareNoun(word) && (isFirst || isPluralForm(word));
    if (!phrase.isOfAThing && !isNoun) return;
    // "a family of four posing"
    const isVerb = (phrase.count ?? 1) > 1 && word.endsWith('ing');
    if (!isVerb && couldStand(word, isFirst)) this.#label(phrase, word);
    else this.#subjects.dropRelation();
  }

  /** Beyond the most that are shown it keeps its part of the sentence. */
  #label(phrase: Phrase, word: string): void {
    const isShown = this.#labelled.size < maxLabelled || this.#labelled.has(word);
    if (isShown) {
      this.#labelled.add(word);
      this.#ignored.delete(word);
    }
    const noun = isShown ? 'label' : null;
    const singular = singularOf(word);
    if (this.#subjects.refer(phrase, noun, singular)) return;
    this.#subjects.add(this.#counted(phrase, noun, word, singular !== word));
  }

  #counted<Named extends Noun | null>(phrase: Phrase, noun: Named, word: string, isPlural: boolean) {
    if ((phrase.count ?? 0) > maxCount) this.#notes.push(`No more than ${maxCount} ${word} are shown.`);
    return phrase.mentionOf(noun, word, isPlural);
  }

  /** Names of artists and sites up to the next sign. */
  #readArtist(token: Token, next: string): boolean {
    const { word } = token;
    if (word === '@artist' || (word === 'by' && isUnknown(next))) {
      this.endPhrase();
      this.#isOfAnArtist = true;
      return true;
    }
    if (isSign(word) || word === 'with') this.#isOfAnArtist = false;
    if (this.#isOfAnArtist) this.ignore(token);
    return this.#isOfAnArtist;
  }

  #readSign(sign: string): void {
    const { unknown, isOfAThing, wasNoun } = this.#phrase;
    this.#phrase.isPaused = sign === ',' && unknown.length > 0 && isOfAThing && !wasNoun;
    if (this.#phrase.isPaused) return;
    this.endPhrase();
    if (sign !== ',') this.#subjects.endSentence();
  }

  /** "a ball made of wood": the material is of the thing before. */
  #readMadeOf(word: string): boolean {
    const [wasMadeOf, last] = [this.#isMadeOf, this.#subjects.list.at(-1)];
    this.#isMadeOf = word === '@made-of';
    if (this.#isMadeOf) {
      this.endPhrase();
      return true;
    }
    const material = known.materialWords.get(word);
    if (!wasMadeOf || material === undefined || last === undefined) return false;
    last.material = material;
    return true;
  }

  #readRelation(word: string): boolean {
    const camera = known.cameraWords.get(word);
    const [relation, back] = [known.relationWords.get(word), known.backRelationWords.get(word)];
    if (camera !== undefined) this.#camera = camera;
    else if (back !== undefined) {
      this.endPhrase();
      this.#subjects.placeLast(back);
    } else if (relation !== undefined) {
      this.#endPhraseLed(true);
      this.#subjects.relate(relation);
    } else return false;
    return true;
  }

  #readTime(word: string): boolean {
    const [time, season] = [known.timeWords.get(word), known.seasonWords.get(word)];
    this.#time ??= time ?? null;
    this.#season ??= season ?? null;
    return time !== undefined || season !== undefined;
  }

  /** "a gryphlet at night" is still a gryphlet, "a quiet night" is none. */
  #readTimeAfter({ said }: Token): void {
    if (said[0] === 'at') this.endPhrase();
    else this.#phrase.take();
  }

  #readNoun({ noun, isPlural }: KnownNoun, token: Token, next: string): void {
    const { said } = token;
    const phrase = this.#phrase;
    const following = nounOf(next)?.noun;
    if (following === 'tree' && treesOf.has(noun)) {
      phrase.treeOf = noun;
      return;
    }
    // "a clock tower" is a tower.
    if (phrase.isOfAThing && !isPlural && isThing(noun) && following !== undefined && isThing(following)) {
      return this.ignore(token);
    }
    const named = this.#kindOfTree(noun);
    this.#phrase = new Phrase();
    this.#phrase.wasNoun = true;
    if (phrase.isDenied) this.#denied.push(named);
    else if (isThing(named) && this.#subjects.refer(phrase, named, null)) return;
    else this.#add(this.#counted(phrase, named, said.join(' '), isPlural));
  }

  #add(mention: Mention): void {
    this.#mentions.push(mention);
    const { noun } = mention;
    if (isThing(noun)) this.#subjects.add({ ...mention, noun });
    else this.#subjects.dropRelation();
  }

  /** "pine trees" are pines, and a cherry tree is in blossom. */
  #kindOfTree(noun: Noun): Noun {
    const { treeOf, colours } = this.#phrase;
    if (noun !== 'tree' || treeOf === null) return noun;
    if ((treeOf === 'cherry' || treeOf === 'flower') && colours.length === 0) colours.push('pink');
    return treesOf.get(treeOf) ?? noun;
  }

  #readAdjective(word: string): boolean {
    const [colour, material, size] = [
      known.colourWords.get(word),
      known.materialWords.get(word),
      known.sizeWords.get(word),
    ];
    const isNumber = /^\d+$/.test(word);
    // "a gryphlet 356" has it in its name.
    if (isNumber && this.#phrase.unknown.length > 0) return true;
    const count = isNumber ? Number(word) : known.countWords.get(word);
    if (colour === undefined && material === undefined && count === undefined && size === undefined) {
      return this.#readPart(word);
    }
    if (count !== undefined) this.#readCount(count);
    const phrase = this.#phrase;
    if (colour !== undefined && !phrase.colours.includes(colour)) phrase.colours.push(colour);
    phrase.material = material ?? phrase.material;
    phrase.size = size ?? phrase.size;
    if (phrase.count !== null) phrase.isOfAThing = true;
    return true;
  }

  /** "with a red roof": the colour is of a part of the thing before. */
  #readPart(word: string): boolean {
    const last = this.#subjects.list.at(-1);
    if (!known.partWords.has(word) || last === undefined) return false;
    last.trim.push(...this.#phrase.colours);
    this.#phrase = new Phrase();
    this.#subjects.dropRelation();
    return true;
  }

  #readCount(count: number): void {
    // "two dozen", "three hundred"
    const times = multiples.has(count) ? Math.max(1, this.#phrase.count ?? 1) : 1;
    this.#endPhraseLed(true);
    this.#phrase.count = count * times;
    if (count === 0) this.#phrase.isDenied = true;
  }

  #readPlace({ word, said }: Token): boolean {
    const noun = known.placeWords.get(word);
    if (noun === undefined) return false;
    this.#add(new Phrase().mentionOf(noun, said.join(' '), false));
    return true;
  }

  #readGrammar(word: string, next: string): boolean {
    if (word === 'no' || word === 'without') {
      this.endPhrase();
      this.#phrase.isDenied = true;
      return true;
    }
    if (!known.grammarWords.has(word)) return false;
    // "red and yellow balloons": the colours wait for their noun.
    if (word === 'and' && this.#phrase.colours.length > 0 && known.colourWords.has(next)) return true;
    if (word === 'of' && this.#phrase.wasNoun) this.#subjects.relateContents();
    // "a pair of cats": the number waits for its noun.
    if (word === 'of' && this.#phrase.count !== null && this.#phrase.unknown.length === 0) return true;
    if (word === 'the') {
      if (this.#phrase.unknown.length > 0) this.endPhrase(true);
      this.#phrase.isOfAThing = true;
      this.#phrase.isDefinite = true;
    } else if (word === 'a' || word === 'an') {
      if (this.#phrase.unknown.length > 0) this.endPhrase(true);
      this.#phrase.isOfAThing = true;
      this.#phrase.count = 1;
    } else this.#endPhraseLed(word === 'and' || word === 'of' || this.#phrase.isLed);
    return true;
  }

  #endPhraseLed(isLed: boolean): void {
    this.endPhrase();
    this.#phrase.isLed = isLed;
  }

  #readUnknown(token: Token): void {
    this.ignore(token);
    if (known.mediumWords.has(token.word)) this.#phrase.take();
    else this.#phrase.addUnknown(token.word);
  }
}

const multiples = new Set([12, 100, 1000]);

/** The trees that are named by their fruit or with the word "tree" after their name. */
const treesOf = known.wordMap<Noun>({
  pine: 'pine',
  palm: 'palm',
  oak: 'oak',
  christmastree: 'christmastree',
  tree: 'apple cherry flower fruit lemon pear',
});

const solids = nounSet('ball cube cone cylinder ring diamond');

/** A pyramid beside a sphere is one of the nursery. */
function withSolids(subjects: readonly Subject[]): Subject[] {
  const areSolids = subjects.some(({ noun }) => solids.has(noun));
  return subjects.map((subject) =>
    areSolids && subject.noun === 'pyramid' ? { ...subject, noun: 'solidpyramid' } : subject,
  );
}
