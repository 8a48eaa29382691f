/** Texts that came from elsewhere, so that they cannot do anything to a terminal. */

/** Control and format characters as `\u{1b}`; line breaks and the joiners of scripts and emoji stay. */
export function printable(text: string): string {
  return text.replaceAll(
    /(?![\n\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
