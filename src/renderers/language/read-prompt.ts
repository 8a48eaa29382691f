/** A prompt → its subjects and where they are, the land, the sky and the light, with every word accounted for; pure. */
import { endsPause, isAdjective, isHead, isOwner, isUnknown } from './in-between.ts';
import { isThing, nounOf, nounSet, type KnownNoun, type Noun } from './nouns.ts';
import * as known from './other-words.ts';
import type { Camera, Season, TimeOfDay } from './other-words.ts';
import { couldStand, singularOf } from './no-things.ts';
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
  /** "Made of": what follows is no thing of its own. */
  #isMadeOf = false;
  /** Text between quotation marks that nothing bears yet. */
  #quoted: Token | null = null;
  /** What follows is a name: "in the style of". */
  #isOfAnArtist = false;

  constructor() {
    this.#phrase.isLed = true;
  }

  prompt(): Prompt {
    // Words alone stand on a sign.
    if (this.#quoted !== null && this.#subjects.list.length === 0)
      this.#add(new Phrase().mentionOf('sign', 'sign', false));
    if (this.#quoted !== null) this.ignore(this.#quoted);
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
    if (this.#readArtist(token, next) || word === 's') return;
    const noun = this.#nounOf(word);
    if (this.#phrase.isPaused && endsPause(word, noun)) this.endPhrase();
    if (isSign(word)) this.#readSign(word);
    else if (word === '@quoted') this.#readQuoted(token);
    else if (this.#readMadeOf(token) || this.#readRelation(word)) return;
    else if (next === 'shaped' || (next === 's' && isOwner(word, afterNext))) this.ignore(token);
    else if (isYear(word, next)) this.ignore(token);
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

  /** "A lake can be seen" is about no can. */
  #nounOf(word: string): KnownNoun | undefined {
    const { unknown, isOfAThing, isLed } = this.#phrase;
    const isVerb = word === 'can' && (unknown.length > 0 || !(isOfAThing || isLed));
    return isVerb ? undefined : nounOf(word);
  }

  /** A thing that has no shape here stands as a box with its name, where it is clear that the words speak of a thing. */
  endPhrase(isBeforeArticle = false): void {
    const phrase = this.#phrase;
    this.#phrase = new Phrase();
    const word = phrase.head(isBeforeArticle);
    if (word === null || phrase.isDenied) return;
    const isFirst = this.#subjects.list.length === 0 && this.#mentions.every(({ noun }) => noun === 'sky');
    if (!phrase.isOfAThing && !phrase.couldName(word, isFirst)) return;
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
    // "a triceratops"
    this.#subjects.add(this.#counted(phrase, noun, word, singular !== word && phrase.count !== 1));
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
    this.#isMadeOf = false;
    this.#phrase.isPaused = sign === ',' && unknown.length > 0 && isOfAThing && !wasNoun;
    if (this.#phrase.isPaused) return;
    this.endPhrase();
    if (sign !== ',') this.#subjects.endSentence();
  }

  /** It stands on the sign that was named last, or on the next. */
  #readQuoted(token: Token): void {
    this.endPhrase();
    if (this.#quoted !== null) this.ignore(this.#quoted);
    this.#quoted = this.#subjects.inscribe(token.said) ? null : token;
  }

  /** "a ball made of wood": the material is of the thing before; "a whale made of flowers" is no flowers. */
  #readMadeOf(token: Token): boolean {
    const { word } = token;
    const [wasMadeOf, last] = [this.#isMadeOf, this.#subjects.list.at(-1)];
    if (word === '@made-of') {
      this.endPhrase();
      this.#isMadeOf = true;
      return true;
    }
    if (!wasMadeOf) return false;
    const material = known.materialWords.get(word);
    if (material !== undefined && last !== undefined) last.material = material;
    else this.ignore(token);
    this.#isMadeOf = word === 'a' || word === 'an' || word === 'the' || known.colourWords.has(word);
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
    const phrase = this.#phrase;
    const following = next === 'can' ? undefined : nounOf(next);
    // "a clock tower" is a tower, and a horse corral no horse.
    const isNamed = following === undefined ? isHead(next, phrase.count) : isThing(following.noun);
    // "a Ferrari Testarossa" is a car.
    const isMake = noun === 'car' && token.word !== 'car';
    const describes = phrase.isOfAThing && !isPlural && isNamed && !isMake;
    if (describes && isThing(noun)) return this.ignore(token);
    if (!describes) this.#phrase = new Phrase();
    this.#phrase.wasNoun = !describes;
    if (phrase.isDenied) this.#denied.push(noun);
    else if (isThing(noun) && this.#subjects.refer(phrase, noun, null)) return;
    else this.#add(this.#counted(phrase, noun, token.said.join(' '), isPlural));
  }

  #add(mention: Mention): void {
    this.#mentions.push(mention);
    const { noun } = mention;
    if (!isThing(noun)) return this.#subjects.dropRelation();
    this.#subjects.add({ ...mention, noun });
    if (this.#quoted !== null && this.#subjects.inscribe(this.#quoted.said)) this.#quoted = null;
  }

  #readAdjective(word: string): boolean {
    const phrase = this.#phrase;
    // "a gryphlet 356" has it in its name.
    if (/^\d+$/.test(word) && phrase.unknown.length > 0) return true;
    const count = /^\d+$/.test(word) ? Number(word) : known.countWords.get(word);
    if (count !== undefined) this.#readCount(count);
    return count !== undefined || phrase.describe(word) || this.#readPart(word);
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
    this.#phrase.isOfAThing = true;
    this.#phrase.isDenied = count === 0;
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
    if (known.articles.has(word)) {
      if (this.#phrase.unknown.length > 0) this.endPhrase(true);
      this.#phrase.isOfAThing = true;
      if (word === 'the') this.#phrase.isDefinite = true;
      else this.#phrase.count = 1;
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

/** "a 1997 car" is one, "1900 cars" are many. */
function isYear(word: string, next: string): boolean {
  return /^(?:1[89]|20)\d\d$/.test(word) && nounOf(next)?.isPlural !== true;
}

const solids = nounSet('ball cube cone cylinder ring');

/** A pyramid beside a sphere is one of the nursery. */
function withSolids(subjects: readonly Subject[]): Subject[] {
  const areSolids = subjects.some(({ noun }) => solids.has(noun));
  return subjects.map((subject) =>
    areSolids && subject.noun === 'pyramid' ? { ...subject, noun: 'solidpyramid' } : subject,
  );
}
