/** What a prompt has named so far: things with their places, land and sky, and the words that became nothing; pure. */
import { isSky, isThing, nounSet, type Noun } from './nouns.ts';
import { singularOf } from './no-things.ts';
import { maxCount, Phrase, type Mention } from './phrase.ts';
import { PlacedSubjects, type Subject } from './placed-subjects.ts';
import { isSign, type Token } from './tokens.ts';

/** So many kinds of things that have no shape here stand as boxes. */
const maxLabelled = 6;

export class Named {
  readonly subjects = new PlacedSubjects();
  readonly mentions: Mention[] = [];
  readonly denied: Noun[] = [];
  readonly labelled = new Set<string>();
  readonly ignored = new Set<string>();
  readonly notes: string[] = [];
  /** Text between quotation marks that nothing bears yet. */
  #quoted: Token | null = null;

  ignore({ said }: Token): void {
    for (const word of said) if (!isSign(word)) this.ignored.add(word);
  }

  /** But for what is of the sky. */
  isEmpty(): boolean {
    return this.subjects.list.length === 0 && this.mentions.every(({ noun }) => isSky(noun));
  }

  /** Land, the sky, or a thing that has a shape. */
  name(phrase: Phrase, noun: Noun, word: string, isPlural: boolean): void {
    if (phrase.isDenied) this.denied.push(noun);
    else if (isThing(noun) && this.subjects.refer(phrase, noun, null)) return;
    else if (isThing(noun) && this.subjects.isFull()) this.ignored.add(word);
    else this.#add(this.#counted(phrase, noun, word, isPlural));
  }

  /** Beyond the most that are shown a thing without a shape keeps its part of the sentence. */
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
    // A few of them, without a number, are one box with the word for several.
    const text = (phrase.count ?? 1) > 1 ? singular : word;
    this.subjects.add({ ...this.#counted(phrase, noun, word, false), text });
  }

  /** It stands on the sign that was named last, or on the next. */
  quote(token: Token): void {
    if (this.#quoted !== null) this.ignore(this.#quoted);
    this.#quoted = this.subjects.inscribe(token.said) ? null : token;
  }

  /** Words alone stand on a sign, and a pyramid beside a sphere is one of the nursery. */
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

const solids = nounSet('ball cube cone ring');
