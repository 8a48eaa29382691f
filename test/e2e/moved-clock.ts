/** Provides wrong system clocks for programs that run on Node. */

const importOf = (code: string): string => `--import=data:text/javascript,${encodeURIComponent(code)}`;

/** Returns NODE_OPTIONS that set the clock of a program ahead by `ms` from its start. */
export function clockAhead(ms: number): string {
  return importOf(`const { now } = Date; Date.now = () => now() + ${ms};`);
}

/** Returns NODE_OPTIONS that move the clock of a program by `ms` once the file exists. */
export function clockMovedBy(ms: number, file: string): string {
  const moved = `existsSync(${JSON.stringify(file)}) ? ${ms} : 0`;
  return importOf(
    `import { existsSync } from 'node:fs'; const { now } = Date; Date.now = () => now() + (${moved});`,
  );
}
