/** A prompt → its subjects and where they are, the land, the sky and the light, with every word accounted for; pure. */
import { isSky, isThing, nounOf, nounSet, type KnownNoun, type Noun } from './nouns.ts';
import * as known from './other-words.ts';
import type { Camera, Season, TimeOfDay } from './other-words.ts';
import { Phrase, type Mention } from './phrase.ts';
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
  /** Words that changed nothing, in the order they were said, each once. */
  ignoredWords: string[];
}

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
  readonly #ignored = new Set<string>();
  #time: TimeOfDay | null = null;
  #season: Season | null = null;
  #camera: Camera = 'usual';
  #phrase = new Phrase();
  #isMadeOf = false;

  prompt(): Prompt {
    return {
      mentions: this.#mentions,
      subjects: withSolids(this.#subjects.known()),
      denied: this.#denied,
      time: this.#time,
      season: this.#season,
      camera: this.#camera,
      ignoredWords: [...this.#ignored],
    };
  }

  read(token: Token, next: string, afterNext: string): void {
    const { word } = token;
    const noun = nounOf(word);
    if (this.#phrase.isPaused && endsPause(word, noun)) this.endPhrase();
    if (isSign(word)) this.#readSign(word);
    else if (next === 'shaped') this.ignore(token);
    else if (this.#readMadeOf(word) || this.#readRelation(word)) return;
    else if (this.#readTime(word) && noun === undefined) this.#phrase.take();
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

  /** A thing that is not known keeps its part of the sentence, where it is clear that the words speak of a thing. */
  endPhrase(): void {
    const phrase = this.#phrase;
    const isFirst = this.#subjects.list.length === 0 && this.#mentions.every(({ noun }) => isSky(noun));
    const isWanted = phrase.isOfAThing && (phrase.isLed || isFirst) && !phrase.isDenied;
    const { unknown } = phrase;
    if (unknown !== null && isWanted) this.#subjects.add(phrase.mentionOf(null, unknown, false));
    this.#phrase = new Phrase();
  }

  #readSign(sign: string): void {
    const { unknown, isOfAThing, wasNoun } = this.#phrase;
    this.#phrase.isPaused = sign === ',' && unknown !== null && isOfAThing && !wasNoun;
    if (this.#phrase.isPaused) return;
    this.#endPhraseLed(true);
    if (sign !== ',') this.#subjects.endSentence();
  }

  /** "a ball made of wood": the material is of the thing before. */
  #readMadeOf(word: string): boolean {
    const [wasMadeOf, last] = [this.#isMadeOf, this.#subjects.list.at(-1)];
    this.#isMadeOf = word === '@made-of';
    if (this.#isMadeOf) return true;
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
      this.#endPhraseLed(word !== 'with' && word !== 'in' && word !== 'wearing');
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

  #readNoun({ noun, isPlural }: KnownNoun, { said }: Token, next: string): void {
    const phrase = this.#phrase;
    const following = nounOf(next)?.noun;
    if (following === 'tree' && treesOf.has(noun)) {
      phrase.treeOf = noun;
      return;
    }
    const named = this.#kindOfTree(noun);
    this.#phrase = new Phrase();
    this.#phrase.wasNoun = true;
    if (phrase.isDenied) this.#denied.push(named);
    else this.#add(phrase.mentionOf(named, said.join(' '), isPlural));
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
    const count = /^\d+$/.test(word) ? Number(word) : known.countWords.get(word);
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
    const dozens = count === 12 ? Math.max(1, this.#phrase.count ?? 1) : 1;
    this.#endPhraseLed(true);
    this.#phrase.count = count * dozens;
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
    // "a pair of cats": the number waits for its noun.
    if (word === 'of' && this.#phrase.count !== null && this.#phrase.unknown === null) return true;
    if (word === 'the' || word === 'its') this.#phrase.isOfAThing = true;
    else if (word === 'a' || word === 'an') {
      // "a gryphlet chasing a cat": another thing begins.
      if (this.#phrase.unknown !== null) this.#endPhraseLed(this.#phrase.isLed);
      this.#phrase.isOfAThing = true;
      this.#phrase.count = 1;
    } else this.#endPhraseLed(word === 'and' || this.#phrase.isLed);
    return true;
  }

  #endPhraseLed(isLed: boolean): void {
    this.endPhrase();
    this.#phrase.isLed = isLed;
  }

  #readUnknown(token: Token): void {
    this.ignore(token);
    if (known.mediumWords.has(token.word)) this.#phrase.take();
    else this.#phrase.unknown = token.word;
  }
}

/** The trees that are named by their fruit or with the word "tree" after their name. */
const treesOf = known.wordMap<Noun>({
  pine: 'pine',
  palm: 'palm',
  oak: 'oak',
  christmastree: 'christmastree',
  tree: 'apple cherry flower fruit lemon pear',
});

/** "an ornate, mahogany chair" is one thing, "a gryphlet, two chairs" is not. */
function endsPause(word: string, noun: KnownNoun | undefined): boolean {
  if (known.colourWords.has(word) || known.materialWords.has(word)) return false;
  if (noun !== undefined) return noun.isPlural || !isThing(noun.noun);
  const { timeWords, placeWords, cameraWords, relationWords, backRelationWords, countWords } = known;
  const separate = [timeWords, placeWords, cameraWords, relationWords, backRelationWords, countWords];
  return isSign(word) || known.grammarWords.has(word) || separate.some((words) => words.has(word));
}

/** "a stone bridge", "an orange ball": what could be a thing describes the thing after it, but "an orange" is one. */
function isAdjective(word: string, next: string, afterNext: string, isOfAThing: boolean): boolean {
  const describes = (said: string): boolean => known.colourWords.has(said) || known.materialWords.has(said);
  if (!describes(word) && !known.sizeWords.has(word)) return false;
  if (nounOf(next) !== undefined || describes(next)) return true;
  const isAlone =
    next === '' || isSign(next) || known.grammarWords.has(next) || known.relationWords.has(next);
  if (!isAlone) return word !== 'glass';
  const isJoined = next === 'and' && known.colourWords.has(afterNext);
  return known.colourWords.has(word) && (isJoined || !isOfAThing);
}

const solids = nounSet('ball cube cone cylinder ring diamond');

/** A pyramid beside a sphere is one of the nursery. */
function withSolids(subjects: readonly Subject[]): Subject[] {
  const areSolids = subjects.some(({ noun }) => solids.has(noun));
  return subjects.map((subject) =>
    areSolids && subject.noun === 'pyramid' ? { ...subject, noun: 'solidpyramid' } : subject,
  );
}
