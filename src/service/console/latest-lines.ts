/** How much of their logs workers are shown with where many of them are shown at once. */

const mostLines = 50;

/** The page asks for all of them again and again. */
const mostCharacters = 8_000;
const mostCharactersOfAll = 256_000;
const fewestCharacters = 200;

/** The end of the log of one worker among so many. */
export function latestLines(log: readonly string[], workers: number): string[] {
  const share = Math.floor(mostCharactersOfAll / Math.max(1, workers));
  let room = Math.min(mostCharacters, Math.max(fewestCharacters, share));
  const lines: string[] = [];
  for (const line of log.slice(-mostLines).toReversed()) {
    if (room <= 0) break;
    lines.push(line.length <= room ? line : `${line.slice(0, room)}…`);
    room -= line.length + 1;
  }
  return lines.toReversed();
}
