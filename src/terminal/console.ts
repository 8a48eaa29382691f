/** The only way to the terminal: lines to stdout and stderr, also where nobody reads them any more. */

/** A reader that went away (`| head`) ends the lines, not the run. */
export function tolerateClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

export function writeOut(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function writeError(text: string): void {
  process.stderr.write(`${text}\n`);
}
