/** A prompt → its subjects and where they are, the land, the sky and the light, with every word accounted for; pure. */
import { endsPause, isAdjective, isHead, isPassedOver, isUnknown } from './in-between.ts';
import { Named } from './named.ts';
import { isThing, isWindowed, nounOf, type KnownNoun, type Noun } from './nouns.ts';
import * as known from './other-words.ts';
import type { Camera, Season, TimeOfDay } from './other-words.ts';
import { couldStand } from './no-things.ts';
import { Phrase, type Mention } from './phrase.ts';
import type { Subject } from './placed-subjects.ts';
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

/** Beyond this many words a text is not read, which a note says. */
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
  /** "Made of": what follows is no thing of its own. */
  #isMadeOf = false;
  /** What follows is a name: "in the style of". */
  #isOfAnArtist = false;

  /** After the last word that is read. */
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

  /** "A lake can be seen" is about no can; "a cabin with lit windows" has them itself. */
  #nounOf(word: string): KnownNoun | undefined {
    const { unknown, isOfAThing, isLed } = this.#phrase;
    const isVerb = word === 'can' && (unknown.length > 0 || !(isOfAThing || isLed));
    const isPart = word === 'windows' && isWindowed(this.#named.subjects.list.at(-1)?.noun);
    return isVerb || isPart ? undefined : nounOf(word);
  }

  /** A thing that has no shape here stands as a box with its name, where it is clear that the words speak of a thing. */
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

  /** Names of artists and sites up to the next sign. */
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

  /** "a ball made of wood": the material is of the thing before; "a whale made of flowers" is no flowers. */
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

  /** "a gryphlet at night" is still a gryphlet, "a quiet night" is none. */
  #readTimeAfter({ said }: Token): void {
    if (said[0] === 'at') this.#endPhrase();
    else this.#phrase.take();
  }

  #readNoun({ noun, isPlural }: KnownNoun, token: Token, next: string): void {
    const phrase = this.#phrase;
    // "a clock tower" is a tower, and a horse corral no horse; after "a table" a sign is one thing more.
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
    // "a gryphlet 356" has it in its name.
    if (/^\d+$/.test(word) && phrase.unknown.length > 0) return true;
    const count = /^\d+$/.test(word) ? Number(word) : known.countWords.get(word);
    if (count !== undefined) this.#readCount(count);
    return count !== undefined || phrase.describe(word) || this.#readPart(word);
  }

  /** "with a red roof": the colour is of a part of the thing before. */
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
    // "red and yellow balloons": the colours wait for their noun.
    if (word === 'and' && this.#phrase.colours.length > 0 && known.colourWords.has(next)) return true;
    if (word === 'of' && this.#phrase.wasNoun) this.#named.subjects.relateContents();
    // "a pair of cats": the number waits for its noun.
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
