/** Reads a prompt: its subjects with their places, the land, the sky and the light. Accounts for every word; pure. */
import { isSky, isThing, type KnownNoun, type Noun, nounOf, nounSet } from './nouns.ts';
import * as known from './other-words.ts';
import {
  type Camera,
  couldStand,
  isBareNoun,
  isPluralForm,
  type Season,
  singularOf,
  type TimeOfDay,
} from './other-words.ts';
import { maxCount, type Mention, Phrase, PlacedSubjects, type Subject } from './placed-subjects.ts';
import { type Token, tokensOf } from './tokens.ts';

export interface Prompt {
  /** All nouns in the order of the text: things, land, sky and weather. */
  mentions: Mention[];
  /** Things among the mentions, with their places. */
  subjects: Subject[];
  denied: Noun[];
  time: TimeOfDay | null;
  season: Season | null;
  camera: Camera;
  /** Words for things without a shape of their own, which are drawn as boxes with their names. */
  labelledWords: string[];
  /** Words without effect, in the order of the text, each once. */
  ignoredWords: string[];
  /** Sentences about differences between the prompt and the picture. */
  notes: string[];
}

/** Later words are ignored, and a note says so. */
const maxWords = 400;

export function readPrompt(text: string): Prompt {
  const reader = new Reader();
  const tokens = tokensOf(text);
  const read = tokens.slice(0, maxWords);
  for (const [index, token] of read.entries()) {
    reader.read(token, read[index + 1]?.word ?? '', read[index + 2]?.word ?? '');
  }
  return reader.end(tokens.length > maxWords);
}

class Reader {
  readonly #named = new Named();
  #time: TimeOfDay | null = null;
  #season: Season | null = null;
  #camera: Camera = 'usual';
  #phrase = new Phrase(true);
  /** True after "made of": a noun that follows is a material, not a thing. */
  #isMadeOf = false;
  /** True after words such as "in the style of": a name follows. */
  #isOfAnArtist = false;

  end(isCut: boolean): Prompt {
    this.#endPhrase();
    if (isCut) this.#named.notes.push(`Only the first ${maxWords} words are read.`);
    const { mentions, denied, labelled, ignored, notes } = this.#named;
    const [time, season, camera] = [this.#time, this.#season, this.#camera];
    const subjects = this.#named.allSubjects();
    const [labelledWords, ignoredWords] = [[...labelled], [...ignored]];
    return { mentions, subjects, denied, time, season, camera, labelledWords, ignoredWords, notes };
  }

  read(token: Token, next: string, afterNext: string): void {
    const { word } = token;
    if (this.#readArtist(token, next) || word === 's') return;
    const noun = this.#nounOf(word);
    if (this.#phrase.isPaused && endsPause(word, noun)) this.#endPhrase();
    if (isSign(word)) this.#readSign(word);
    else if (word === '@quoted') {
      this.#endPhrase();
      this.#named.quote(token);
    } else if (this.#readMadeOf(token) || this.#readRelation(word)) return;
    else if (isPassedOver(word, next, afterNext)) this.#named.ignore(token);
    else if (this.#readTime(word) && noun === undefined) this.#readTimeAfter(token);
    else if (isAdjective(word, next, afterNext, this.#phrase.isOfAThing) && this.#readAdjective(word)) return;
    else if (word === 'glasses' && this.#phrase.count === null) this.#named.ignore(token);
    else if (noun !== undefined) this.#readNoun(noun, token, next);
    else if (this.#readAdjective(word)) return;
    else if (this.#readPlace(token)) this.#phrase.take();
    else if (!this.#readGrammar(word, next)) {
      this.#named.ignore(token);
      this.#phrase.addUnknown(word);
    }
  }

  /** Returns the noun of a word. "Can" may be a verb, and windows belong to the house before. */
  #nounOf(word: string): KnownNoun | undefined {
    const { unknown, isOfAThing, isLed } = this.#phrase;
    const isVerb = word === 'can' && (unknown.length > 0 || !(isOfAThing || isLed));
    const isPart = word === 'windows' && isWindowed(this.#named.subjects.list.at(-1)?.noun);
    return isVerb || isPart ? undefined : nounOf(word);
  }

  /** Ends a phrase without a known noun. If it clearly means a thing, a box with its name is drawn. */
  #endPhrase(isBeforeArticle = false): void {
    const phrase = this.#phrase;
    this.#phrase = new Phrase();
    const word = phrase.head(isBeforeArticle);
    if (word === null || phrase.isDenied) return;
    const isFirst = this.#named.isEmpty();
    if (!phrase.isOfAThing && !phrase.couldName(word, isFirst || this.#named.subjects.isOwning())) return;
    // "a family of four posing"
    const isVerb = (phrase.count ?? 1) > 1 && word.endsWith('ing');
    if (!isVerb && couldStand(word, isFirst)) this.#named.label(phrase, word);
    else this.#named.subjects.dropRelation();
  }

  /** Skips names of artists and sites up to the next punctuation mark. True if the word was read. */
  #readArtist(token: Token, next: string): boolean {
    const { word } = token;
    if (word === '@artist' || (word === 'by' && isUnknown(next))) {
      this.#endPhrase();
      this.#isOfAnArtist = true;
      return true;
    }
    if (isSign(word) || word === 'with' || word === 'of') this.#isOfAnArtist = false;
    if (this.#isOfAnArtist) this.#named.ignore(token);
    return this.#isOfAnArtist;
  }

  #readSign(sign: string): void {
    const { unknown, isOfAThing, wasNoun } = this.#phrase;
    this.#isMadeOf = false;
    this.#phrase.isPaused = sign === ',' && unknown.length > 0 && isOfAThing && !wasNoun;
    if (this.#phrase.isPaused) return;
    this.#endPhrase();
    if (sign === ',') this.#named.subjects.endContents();
    else this.#named.subjects.endSentence();
  }

  /** Reads "a ball made of wood", a material. "A whale made of flowers" shows no flowers. */
  #readMadeOf(token: Token): boolean {
    const { word } = token;
    const [wasMadeOf, last] = [this.#isMadeOf, this.#named.subjects.list.at(-1)];
    if (word === '@made-of') {
      this.#endPhrase();
      this.#isMadeOf = true;
      return true;
    }
    if (!wasMadeOf) return false;
    const material = known.materialWords.get(word);
    if (material !== undefined && last !== undefined) last.material = material;
    else this.#named.ignore(token);
    this.#isMadeOf = word === 'a' || word === 'an' || word === 'the' || known.colourWords.has(word);
    return true;
  }

  #readRelation(word: string): boolean {
    const camera = known.cameraWords.get(word);
    const [relation, back] = [known.relationWords.get(word), known.backRelationWords.get(word)];
    if (camera !== undefined) this.#camera = camera;
    else if (back !== undefined) {
      this.#endPhrase();
      this.#named.subjects.placeLast(back);
    } else if (relation !== undefined) {
      this.#endPhraseLed(true);
      this.#named.subjects.relate(relation);
    } else return false;
    return true;
  }

  #readTime(word: string): boolean {
    const [time, season] = [known.timeWords.get(word), known.seasonWords.get(word)];
    this.#time ??= time ?? null;
    this.#season ??= season ?? null;
    return time !== undefined || season !== undefined;
  }

  /** "a gryphlet at night" is still a gryphlet; "a quiet night" is not a thing. */
  #readTimeAfter({ said }: Token): void {
    if (said[0] === 'at') this.#endPhrase();
    else this.#phrase.take();
  }

  #readNoun({ noun, isPlural }: KnownNoun, token: Token, next: string): void {
    const phrase = this.#phrase;
    // "a clock tower" is a tower and "a horse corral" not a horse. After "a table", a sign is another thing.
    const following = next === 'can' || !/\p{L}/u.test(next) ? undefined : nounOf(next);
    const isNamed = following === undefined ? isHead(next, phrase.count) : isThing(following.noun);
    // "a Ferrari Testarossa" is a car.
    const isMake = noun === 'car' && token.word !== 'car';
    const describes = phrase.isOfAThing && !isPlural && isNamed && !isMake;
    if (describes && isThing(noun)) return this.#named.ignore(token);
    if (!describes) this.#phrase = new Phrase();
    this.#phrase.wasNoun = !describes;
    this.#named.name(phrase, noun, token.said.join(' '), isPlural);
  }

  #readAdjective(word: string): boolean {
    const phrase = this.#phrase;
    // In "a gryphlet 356", the number is part of the name.
    if (/^\d+$/.test(word) && phrase.unknown.length > 0) return true;
    const count = /^\d+$/.test(word) ? Number(word) : known.countWords.get(word);
    if (count !== undefined) this.#readCount(count);
    return count !== undefined || phrase.describe(word) || this.#readPart(word);
  }

  /** Reads "with a red roof", where the colour belongs to a part of the previous thing. */
  #readPart(word: string): boolean {
    const last = this.#named.subjects.list.at(-1);
    if (!known.partWords.has(word) || last === undefined) return false;
    last.trim.push(...this.#phrase.colours);
    this.#phrase = new Phrase();
    this.#named.subjects.dropRelation();
    return true;
  }

  #readCount(count: number): void {
    // "two dozen", "three hundred"
    const times = [12, 100, 1000].includes(count) ? Math.max(1, this.#phrase.count ?? 1) : 1;
    this.#endPhraseLed(true);
    this.#phrase.count = count * times;
    this.#phrase.isOfAThing = true;
    this.#phrase.isDenied = count === 0;
  }

  #readPlace({ word, said }: Token): boolean {
    const noun = known.placeWords.get(word);
    if (noun === undefined) return false;
    this.#named.name(new Phrase(), noun, said.join(' '), false);
    return true;
  }

  #readGrammar(word: string, next: string): boolean {
    if (word === 'no' || word === 'without') {
      this.#endPhrase();
      this.#phrase.isDenied = true;
      return true;
    }
    if (!known.grammarWords.has(word)) return false;
    // In "red and yellow balloons", the colours wait for their noun.
    if (word === 'and' && this.#phrase.colours.length > 0 && known.colourWords.has(next)) return true;
    if (word === 'of' && this.#phrase.wasNoun) this.#named.subjects.relateContents();
    // In "a pair of cats", the number waits for its noun.
    if (word === 'of' && this.#phrase.count !== null && this.#phrase.unknown.length === 0) return true;
    if (known.articles.has(word)) {
      if (this.#phrase.unknown.length > 0) this.#endPhrase(true);
      this.#phrase.isOfAThing = true;
      if (word === 'the') this.#phrase.isDefinite = true;
      else this.#phrase.count = 1;
    } else this.#endPhraseLed(word === 'and' || word === 'of' || this.#phrase.isLed);
    return true;
  }

  #endPhraseLed(isLed: boolean): void {
    this.#endPhrase();
    this.#phrase = new Phrase(isLed);
  }
}

const windowed = new Set(
  'house castle tower skyscraper barn church temple lighthouse windmill car bus train truck'.split(' '),
);

function isWindowed(noun: Noun | null | undefined): boolean {
  return noun !== undefined && noun !== null && windowed.has(noun);
}

/** True if no table contains the word, so it is a name or an unknown thing. */
function isUnknown(word: string): boolean {
  const { timeWords, placeWords, colourWords, materialWords, sizeWords, countWords, grammarWords } = known;
  const tables = [timeWords, placeWords, colourWords, materialWords, sizeWords, countWords, grammarWords];
  return (
    word !== '' &&
    !/^[\p{N}.,;!?@]/u.test(word) &&
    nounOf(word) === undefined &&
    !tables.some((table) => table.has(word))
  );
}

/** "an ornate, mahogany chair" is one thing; "a gryphlet, two chairs" are several. */
function endsPause(word: string, noun: KnownNoun | undefined): boolean {
  if (known.colourWords.has(word) || known.materialWords.has(word)) return false;
  if (noun !== undefined) return noun.isPlural || !isThing(noun.noun);
  const { timeWords, placeWords, cameraWords, relationWords, backRelationWords, countWords } = known;
  const separate = [timeWords, placeWords, cameraWords, relationWords, backRelationWords, countWords];
  return isSign(word) || known.grammarWords.has(word) || separate.some((words) => words.has(word));
}

/** True if a word describes the next one: "a stone bridge", "an orange ball". "An orange" alone is a thing. */
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

/** True if an unknown word is the noun, and the word before describes it: "a horse corral". */
function isHead(word: string, count: number | null): boolean {
  return couldBeNamed(word) && isBareNoun(word) && (!isPluralForm(word) || (count ?? 1) > 1);
}

/** True for a shape, owner or year ("a 1997 car"), but not for "a cat's shadow" or "1900 cars". */
function isPassedOver(word: string, next: string, afterNext: string): boolean {
  if (next === 's' && !known.grammarWords.has(word)) {
    const owned = nounOf(afterNext)?.noun;
    return owned === undefined ? couldBeNamed(afterNext) : isThing(owned);
  }
  return next === 'shaped' || (/^(?:1[89]|20)\d\d$/.test(word) && nounOf(next)?.isPlural !== true);
}

function couldBeNamed(word: string): boolean {
  const isOther = endsPause(word, undefined) || known.mediumWords.has(word) || known.partWords.has(word);
  return isUnknown(word) && !isOther && couldStand(word, false);
}

const maxLabelled = 6;

class Named {
  readonly subjects = new PlacedSubjects();
  readonly mentions: Mention[] = [];
  readonly denied: Noun[] = [];
  readonly labelled = new Set<string>();
  readonly ignored = new Set<string>();
  readonly notes: string[] = [];
  /** Quoted text that no thing carries yet. */
  #quoted: Token | null = null;

  ignore({ said }: Token): void {
    for (const word of said) if (!isSign(word)) this.ignored.add(word);
  }

  isEmpty(): boolean {
    return this.subjects.list.length === 0 && this.mentions.every(({ noun }) => isSky(noun));
  }

  name(phrase: Phrase, noun: Noun, word: string, isPlural: boolean): void {
    if (phrase.isDenied) this.denied.push(noun);
    else if (isThing(noun) && this.subjects.refer(phrase, noun, null)) return;
    else if (isThing(noun) && this.subjects.isFull()) this.ignored.add(word);
    else this.#add(this.#counted(phrase, noun, word, isPlural));
  }

  /** Adds a thing without a shape. Beyond `maxLabelled` kinds it only keeps its place. */
  label(phrase: Phrase, word: string): void {
    if (this.subjects.isFull()) return void this.ignored.add(word);
    const isShown = this.labelled.size < maxLabelled || this.labelled.has(word);
    if (isShown) {
      this.labelled.add(word);
      this.ignored.delete(word);
    }
    const noun = isShown ? 'label' : null;
    const singular = singularOf(word);
    if (this.subjects.refer(phrase, noun, singular)) return;
    // Several of them without a number are one box with the plural as its name.
    const text = (phrase.count ?? 1) > 1 ? singular : word;
    this.subjects.add({ ...this.#counted(phrase, noun, word, false), text });
  }

  /** Writes quoted text on the last sign, or keeps it for the next one. */
  quote(token: Token): void {
    if (this.#quoted !== null) this.ignore(this.#quoted);
    this.#quoted = this.subjects.inscribe(token.said) ? null : token;
  }

  /** Returns the subjects. Quoted text without a thing gets a sign; a pyramid beside solids is plain. */
  allSubjects(): Subject[] {
    if (this.#quoted !== null && this.subjects.list.length === 0)
      this.name(new Phrase(), 'sign', 'sign', false);
    if (this.#quoted !== null) this.ignore(this.#quoted);
    const subjects = this.subjects.known();
    const areSolids = subjects.some(({ noun }) => solids.has(noun));
    return subjects.map((subject) =>
      areSolids && subject.noun === 'pyramid' ? { ...subject, noun: 'solidpyramid' } : subject,
    );
  }

  #counted<Any extends Noun | null>(phrase: Phrase, noun: Any, word: string, isPlural: boolean) {
    if ((phrase.count ?? 0) > maxCount) this.notes.push(`No more than ${maxCount} ${word} are shown.`);
    return phrase.mentionOf(noun, word, isPlural);
  }

  #add(mention: Mention): void {
    this.mentions.push(mention);
    const { noun } = mention;
    if (!isThing(noun)) return this.subjects.dropRelation();
    this.subjects.add({ ...mention, noun });
    if (this.#quoted !== null && this.subjects.inscribe(this.#quoted.said)) this.#quoted = null;
  }
}

function isSign(word: string): boolean {
  return /^[.,;!?]$/.test(word);
}

const solids = nounSet('ball cube cone ring');
