/** Comments in lists: lines that `comments` leaves out, and lines that were probably meant as comments. */

/** True if the line begins with `comments` and white space follows. `#hashtag` and `#️⃣` are prompts. */
export function isComment(line: string, comments: string | undefined): boolean {
  return comments !== undefined && line.startsWith(comments) && /^\s?$/.test(line.charAt(comments.length));
}

export function seemsComment(line: string): boolean {
  return line.startsWith('# ');
}

const maxShown = 3;

/** Describes lines that look like comments and are read as rows. Empty if there is none. */
export function commentNotes(lines: number[]): string[] {
  if (lines.length === 0) return [];
  const count = lines.length === 1 ? '1 line begins' : `${lines.length.toLocaleString('en')} lines begin`;
  const shown = lines.slice(0, maxShown).map((line) => `line ${line}`);
  const where = [...shown, ...(lines.length > maxShown ? ['…'] : [])].join(', ');
  return [
    `${count} with "# " (${where}), read like any other line; comments: '#' in pipeline.yaml leaves such lines out`,
  ];
}
