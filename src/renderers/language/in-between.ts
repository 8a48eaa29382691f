/** What a word is by what stands beside it: a thing, or what describes the thing after it; pure. */
import { isThing, nounOf, type KnownNoun } from './nouns.ts';
import * as known from './other-words.ts';
import { couldStand, isBareNoun, isPluralForm } from './no-things.ts';
import { isSign } from './tokens.ts';

/** Whether a word says nothing: a name, or a thing that is not known. */
export function isUnknown(word: string): boolean {
  const { timeWords, placeWords, colourWords, materialWords, sizeWords, countWords, grammarWords } = known;
  const tables = [timeWords, placeWords, colourWords, materialWords, sizeWords, countWords, grammarWords];
  return (
    word !== '' &&
    !/^[\p{N}.,;!?@]/u.test(word) &&
    nounOf(word) === undefined &&
    !tables.some((table) => table.has(word))
  );
}

/** "an ornate, mahogany chair" is one thing, "a gryphlet, two chairs" is not. */
export function endsPause(word: string, noun: KnownNoun | undefined): boolean {
  if (known.colourWords.has(word) || known.materialWords.has(word)) return false;
  if (noun !== undefined) return noun.isPlural || !isThing(noun.noun);
  const { timeWords, placeWords, cameraWords, relationWords, backRelationWords, countWords } = known;
  const separate = [timeWords, placeWords, cameraWords, relationWords, backRelationWords, countWords];
  return isSign(word) || known.grammarWords.has(word) || separate.some((words) => words.has(word));
}

/** "a stone bridge", "an orange ball": what could be a thing describes the thing after it, but "an orange" is one. */
export function isAdjective(word: string, next: string, afterNext: string, isOfAThing: boolean): boolean {
  const describes = (said: string): boolean => known.colourWords.has(said) || known.materialWords.has(said);
  if (!describes(word) && !known.sizeWords.has(word)) return false;
  if (nounOf(next) !== undefined || describes(next)) return true;
  const isAlone =
    next === '' || isSign(next) || known.grammarWords.has(next) || known.relationWords.has(next);
  if (!isAlone) return word !== 'glass';
  const isJoined = next === 'and' && known.colourWords.has(afterNext);
  return known.colourWords.has(word) && (isJoined || !isOfAThing);
}

/** "a horse corral": whether a word that is not known is the noun that the one before it describes. */
export function isHead(word: string, count: number | null): boolean {
  return couldBeNamed(word) && isBareNoun(word) && (!isPluralForm(word) || (count ?? 1) > 1);
}

/** A shape, an owner, a year: "a diamond-shaped sign", "a conductor's hat" but "a cat's shadow", "a 1997 car" but "1900 cars". */
export function isPassedOver(word: string, next: string, afterNext: string): boolean {
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
