/** A scene's words → its subjects, their relations, the setting and the camera, with every word accounted for; pure. */
import {
  breakWords,
  countWords,
  partWords,
  timeWords,
  sizeWords,
  colourWords,
  type TimeOfDay,
} from '../painter/adjectives.ts';
import type { ColourName } from '../colour.ts';
import { nounOf, type Noun } from './nouns.ts';
import {
  backRelationWords,
  cameraWords,
  grammarWords,
  materialWords,
  mediumWords,
  modelWords,
  relationWords,
  smallPartWords,
  type Camera,
  type Material,
  type Relation,
  type SaidRelation,
} from './other-words.ts';
import { PhraseWords } from './phrase-words.ts';
import {
  backdropOf,
  groundOf,
  isThing,
  placeWords,
  skySightOf,
  weatherOf,
  type Backdrop,
  type Ground,
  type SkySight,
  type Weather,
} from './setting-words.ts';
import { isSign, mostWords, tokensOf, type Token } from './tokens.ts';

/** Something that is to be seen, one or several of it. */
export interface Subject {
  /** `form` is a sculpted shape for a word that is not known. */
  noun: Noun | 'form';
  word: string;
  /** From 1 to `mostOfASubject`. */
  count: number;
  /** It was said how many there are. */
  isCounted: boolean;
  /** In the order they were said: the main colour first. */
  colours: ColourName[];
  /** Of its parts: "with a red roof". */
  trim: ColourName[];
  material: Material | null;
  /** 1 is the usual size. */
  size: number;
  /** Where it is; `to` is an index among the subjects, always of another one, and no circle ever comes of it. */
  place: { relation: Relation; to: number } | null;
}

export interface SceneWords {
  subjects: Subject[];
  ground: Ground | null;
  /** A sea, lake or river was said, whatever the ground is. */
  hasWater: boolean;
  /** What is seen far behind. */
  backdrops: Backdrop[];
  weather: Weather;
  sights: SkySight[];
  time: TimeOfDay | null;
  camera: Camera;
  skyColour: ColourName | null;
  groundColour: ColourName | null;
  /** Words that changed nothing, in the order they were said, each once. */
  ignoredWords: string[];
}

export const mostOfASubject = 24;
export const mostSubjects = 12;

export function readWords(text: string): SceneWords {
  const reader = new Reader();
  const tokens = tokensOf(text);
  const read = tokens.slice(0, mostWords);
  for (const [index, token] of read.entries()) reader.read(token, read[index + 1]?.word ?? '');
  reader.endPhrase();
  for (const token of tokens.slice(mostWords)) reader.ignore(token);
  return reader.words();
}

class Reader {
  readonly #subjects: Subject[] = [];
  readonly #ignored = new Set<string>();
  readonly #backdrops = new Set<Backdrop>();
  readonly #sights = new Set<SkySight>();
  #ground: Ground | null = null;
  #hasWater = false;
  #weather: Weather = 'clear';
  #time: TimeOfDay | null = null;
  #camera: Camera = 'usual';
  #skyColour: ColourName | null = null;
  #groundColour: ColourName | null = null;
  #phrase = new PhraseWords();
  /** What was said between two things, and waits for the second. */
  #relation: SaidRelation | null = null;
  /** A relation that was said before any thing: "on a table a ball". */
  #fronted: { relation: Relation; to: number } | null = null;
  #isMadeOf = false;
  /** Subjects that a relation now said would be about. */
  #group: number[] = [];

  read(token: Token, next: string): void {
    const { word } = token;
    const noun = word.startsWith('@') ? undefined : nounOf(word);
    if (this.#phrase.isPaused && this.#endsPause(word, noun)) this.endPhrase();
    if (isSign(word)) this.#readSign(word);
    else if (next === 'shaped') this.ignore(token);
    else if (this.#readMadeOf(word)) return;
    else if (this.#readRelation(token)) return;
    else if (this.#readTime(word)) this.#phrase.take();
    else if (this.#isAdjectiveBeforeNoun(word, next) && this.#readAdjective(word)) return;
    else if (noun !== undefined) this.#readNoun(token, noun.noun, noun.isPlural);
    else if (this.#readAdjective(word)) return;
    else if (this.#readPlace(word)) this.#phrase.take();
    else if (!this.#readGrammar(word, next)) this.#readUnknown(token);
  }

  ignore({ said }: Token): void {
    for (const word of said) if (!isSign(word)) this.#ignored.add(word);
  }

  words(): SceneWords {
    return {
      subjects: withSolids(this.#subjects),
      ground: this.#ground,
      hasWater: this.#hasWater,
      backdrops: [...this.#backdrops],
      weather: this.#weather,
      sights: [...this.#sights],
      time: this.#time,
      camera: this.#camera,
      skyColour: this.#skyColour,
      groundColour: this.#groundColour,
      ignoredWords: [...this.#ignored],
    };
  }

  /** A thing that is not known is still there, where it is clear that the words speak of a thing. */
  endPhrase(): void {
    const { unknown, isOfAThing } = this.#phrase;
    const isFirst = this.#subjects.length === 0 && this.#ground === null && this.#backdrops.size === 0;
    const isWanted = isOfAThing && (this.#phrase.isLed || isFirst);
    if (unknown !== null && isWanted) this.#add('form', unknown, this.#phrase.count ?? 1);
    this.#phrase = new PhraseWords();
  }

  #readSign(sign: string): void {
    const { unknown, isOfAThing, wasNoun } = this.#phrase;
    this.#phrase.isPaused = sign === ',' && unknown !== null && isOfAThing && !wasNoun;
    if (this.#phrase.isPaused) return;
    this.endPhrase();
    this.#phrase.isLed = true;
    if (sign === ',') return;
    this.#group = [];
    this.#relation = null;
  }

  /** "an ornate, mahogany chair" is one thing, "a gryphlet, two chairs" is not. */
  #endsPause(word: string, noun: ReturnType<typeof nounOf>): boolean {
    if (colourWords.has(word) || materialWords.has(word)) return false;
    if (noun !== undefined) return noun.isPlural || !isThing(noun.noun);
    const isKnown = [timeWords, placeWords, cameraWords, relationWords, backRelationWords, countWords];
    return isSign(word) || grammarWords.has(word) || isKnown.some((words) => words.has(word));
  }

  /** "a stone bridge", "an orange ball": what could be a thing describes the thing after it. */
  #isAdjectiveBeforeNoun(word: string, next: string): boolean {
    const isDescribing = colourWords.has(word) || materialWords.has(word) || sizeOf(word) !== undefined;
    return isDescribing && (nounOf(next) !== undefined || colourWords.has(next) || materialWords.has(next));
  }

  /** "a ball made of wood": the material is of the thing before. */
  #readMadeOf(word: string): boolean {
    const [wasMadeOf, last] = [this.#isMadeOf, this.#subjects.at(-1)];
    this.#isMadeOf = word === '@made-of';
    if (this.#isMadeOf) return true;
    const material = materialWords.get(word);
    if (!wasMadeOf || material === undefined || last === undefined) return false;
    last.material = material;
    return true;
  }

  #readRelation(token: Token): boolean {
    const { word } = token;
    const camera = cameraWords.get(word);
    if (camera !== undefined) {
      this.#camera = camera;
      return true;
    }
    const back = backRelationWords.get(word);
    if (back !== undefined) {
      this.endPhrase();
      this.#placeBack(back);
      return true;
    }
    const relation = relationWords.get(word);
    if (relation === undefined) return false;
    this.endPhrase();
    this.#relation = relation;
    this.#phrase.isLed = word !== 'with' && word !== 'in' && word !== 'wearing';
    return true;
  }

  #placeBack(relation: Relation): void {
    // "with toast on it": what is not known is not placed.
    if (this.#relation !== null) {
      this.#relation = null;
      return;
    }
    const last = this.#subjects.length - 1;
    const [subject, before] = [this.#subjects[last], this.#subjects[last - 1]];
    if (subject === undefined || before === undefined) return;
    const to = this.#group[0] !== undefined && this.#group[0] < last ? this.#group[0] : last - 1;
    if (!this.#leadsTo(to, last)) subject.place = { relation, to };
    for (const other of this.#subjects.slice(0, last)) if (other.place?.to === last) other.place = null;
  }

  #readTime(word: string): boolean {
    const time = timeWords.get(word);
    if (time === undefined) return false;
    this.#time ??= time;
    return true;
  }

  #readNoun(token: Token, noun: Noun, isPlural: boolean): void {
    const { word } = token;
    if (this.#phrase.isDenied) return this.#endOfNoun();
    if (noun === 'sky') this.#skyColour ??= this.#phrase.colours[0] ?? null;
    const ground = groundOf[noun];
    if (ground === 'water') this.#hasWater = true;
    if (ground !== undefined) {
      this.#ground ??= ground;
      this.#groundColour ??= this.#phrase.colours[0] ?? null;
    }
    const [backdrop, weather, sight] = [backdropOf[noun], weatherOf[noun], skySightOf[noun]];
    if (backdrop !== undefined) this.#backdrops.add(backdrop);
    if (weather !== undefined && this.#weather === 'clear') this.#weather = weather;
    if (sight !== undefined) this.#sights.add(sight);
    if (isThing(noun)) this.#add(noun, word, this.#phrase.countOf(isPlural));
    else this.#relation = null;
    this.#endOfNoun();
  }

  #endOfNoun(): void {
    this.#phrase = new PhraseWords();
    this.#phrase.wasNoun = true;
  }

  #readAdjective(word: string): boolean {
    const [colour, material] = [colourWords.get(word), materialWords.get(word)];
    const count = /^\d+$/.test(word) ? Number(word) : countWords.get(word);
    const size = sizeOf(word);
    if (colour === undefined && material === undefined && count === undefined && size === undefined) {
      return this.#readPart(word);
    }
    if (count !== undefined) this.#beginCounted(count);
    this.#phrase.describe({ colour, material, size });
    return true;
  }

  /** "with a red roof": the colour is of a part of the thing before. */
  #readPart(word: string): boolean {
    const last = this.#subjects.at(-1);
    if (!(partWords.has(word) || smallPartWords.has(word)) || last === undefined) return false;
    last.trim.push(...this.#phrase.colours);
    this.#phrase = new PhraseWords();
    this.#relation = null;
    return true;
  }

  #beginCounted(count: number): void {
    this.endPhrase();
    this.#phrase.isLed = true;
    this.#phrase.count = count;
    if (count === 0) this.#phrase.isDenied = true;
  }

  #readPlace(word: string): boolean {
    const ground = placeWords.get(word);
    if (ground === undefined) return false;
    this.#ground ??= ground;
    this.#relation = null;
    return true;
  }

  #readGrammar(word: string, next: string): boolean {
    if (word === 'no' || word === 'without') {
      this.endPhrase();
      this.#phrase.isDenied = true;
      return true;
    }
    if (!grammarWords.has(word) && !breakWords.has(word)) return false;
    // "red and yellow balloons": the colours wait for their noun.
    if (word === 'and' && this.#phrase.colours.length > 0 && colourWords.has(next)) return true;
    // "a pair of cats": the number waits for its noun.
    if (word === 'of' && this.#phrase.count !== null && this.#phrase.unknown === null) return true;
    if (word === 'a' || word === 'an') this.#phrase.begin();
    else if (word !== 'the' && word !== 'its') {
      const wasLed = this.#phrase.isLed;
      this.endPhrase();
      this.#phrase.isLed = word === 'and' || wasLed;
    } else this.#phrase.isOfAThing = true;
    return true;
  }

  #readUnknown(token: Token): void {
    this.ignore(token);
    if (mediumWords.has(token.word)) this.#phrase.take();
    else this.#phrase.unknown = token.word;
  }

  #add(noun: Subject['noun'], word: string, count: number): void {
    const { colours, material, size } = this.#phrase;
    const index = this.#subjects.length;
    if (index >= mostSubjects || count < 1) return;
    const subject: Subject = {
      noun,
      word,
      count: Math.min(count, mostOfASubject),
      isCounted: this.#phrase.count !== null,
      colours,
      trim: [],
      material,
      size,
      place: null,
    };
    this.#subjects.push(subject);
    const relation = this.#relation;
    this.#relation = null;
    if (relation === null) subject.place = this.#fronted;
    else if (relation === 'with') return this.#placeWith(subject, index);
    else if (this.#group.length === 0) this.#fronted = { relation, to: index };
    else {
      for (const member of this.#group) this.#place(member, relation, index);
      this.#fronted = null;
    }
    if (relation === null) this.#group.push(index);
    else this.#group = [index];
  }

  /** A hat is worn, anything else is at hand; what is said next is about the one that has it. */
  #placeWith(subject: Subject, index: number): void {
    const owner = this.#group.at(-1);
    if (owner === undefined) this.#group.push(index);
    else subject.place = { relation: subject.noun === 'hat' ? 'on' : 'beside', to: owner };
  }

  /** What has a place already keeps it: the new thing is then placed from it. */
  #place(member: number, relation: Relation, index: number): void {
    const subject = this.#subjects[member];
    if (subject?.place === null && !this.#leadsTo(index, member)) subject.place = { relation, to: index };
  }

  #leadsTo(from: number, wanted: number): boolean {
    let at: number | undefined = from;
    for (let step = 0; at !== undefined && step <= mostSubjects; step += 1) {
      if (at === wanted) return true;
      at = this.#subjects[at]?.place?.to;
    }
    return false;
  }
}

function sizeOf(word: string): number | undefined {
  return sizeWords.get(word) ?? modelWords.get(word);
}

const solids: ReadonlySet<Subject['noun']> = new Set<Subject['noun']>([
  'ball',
  'cube',
  'cone',
  'cylinder',
  'ring',
  'diamond',
]);

/** A pyramid beside a sphere is one of the nursery. */
function withSolids(subjects: readonly Subject[]): Subject[] {
  const areSolids = subjects.some(({ noun }) => solids.has(noun));
  return subjects.map((subject) =>
    areSolids && subject.noun === 'pyramid' ? { ...subject, noun: 'solidpyramid' } : subject,
  );
}
