/** What a list of jobs shows of an input. */

const maxLength = 120;

/** The beginning of the scene or prompt; `input` is JSON text of an object. Empty where it names neither. */
export function summaryOf(input: string): string {
  // Cut texts of pictures and the like would cost more to read than the rest of the submission.
  const found = /"(?:scene|prompt)"\s*:\s*("(?:[^"\\]|\\.){0,400})/.exec(input.slice(0, 4_000))?.[1];
  if (found === undefined) return '';
  const text = found.slice(1).replaceAll(/\\(?:u[0-9a-fA-F]{0,4}|.)?/g, unescaped);
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

function unescaped(escape: string): string {
  try {
    return (JSON.parse(`"${escape}"`) as string).replaceAll(/\s/g, ' ');
  } catch {
    return '';
  }
}
