/** System clocks that are wrong, for programs that run on Node. */

const importOf = (code: string): string => `--import=data:text/javascript,${encodeURIComponent(code)}`;

/** NODE_OPTIONS by which a program's clock is ahead by so many ms from its start. */
export function clockAhead(ms: number): string {
  return importOf(`const { now } = Date; Date.now = () => now() + ${ms};`);
}

/** NODE_OPTIONS by which a program's clock moves by so many ms as soon as there is the file. */
export function clockMovedBy(ms: number, file: string): string {
  const moved = `existsSync(${JSON.stringify(file)}) ? ${ms} : 0`;
  return importOf(
    `import { existsSync } from 'node:fs'; const { now } = Date; Date.now = () => now() + (${moved});`,
  );
}
