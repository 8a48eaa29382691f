/** A scene's text → its words, those that mean something only together as one; pure. */
import { longestPhrase, phrases } from './phrases.ts';

export interface Token {
  /** What it is read as: a word in lower case, a sign, or a phrase's stand-in. */
  word: string;
  /** The words as they stand in the text, in lower case. */
  said: string[];
}

/** Beyond this many the rest of a text is listed as ignored. */
export const mostWords = 400;

export function tokensOf(text: string): Token[] {
  const words = wordsOf(text);
  const tokens: Token[] = [];
  for (let index = 0; index < words.length;) {
    const token = phraseAt(words, index);
    tokens.push(token);
    index += token.said.length;
  }
  return tokens;
}

/** Words, numbers, picture signs and what ends a sentence or a part of it. */
export function wordsOf(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/\p{Extended_Pictographic}|[\p{L}\p{M}]+|\p{N}+|[.,;!?]/gu) ?? []
  );
}

export function isSign(word: string): boolean {
  return /^[.,;!?]$/.test(word);
}

function phraseAt(words: string[], index: number): Token {
  for (let length = longestPhrase; length > 1; length -= 1) {
    const said = words.slice(index, index + length);
    const meaning = said.length === length ? phrases.get(said.join(' ')) : undefined;
    if (meaning !== undefined) return { word: meaning, said };
  }
  const word = words[index] ?? '';
  return { word, said: [word] };
}
