/** The entry point: runs the command that argv names and exits with its code. Only this file ends the process. */
import { whyUnsupported } from './lib/supported-node.ts';

/** Native modules of a newer Node crash an older one silently, so this is checked before any import. */
const unsupported = whyUnsupported(process.versions.node);
if (unsupported !== undefined) {
  process.stderr.write(`${unsupported}.\n`);
  process.exit(2);
}

const exitCode = await start(process.argv.slice(2)).catch(refuseWithoutFiles);
// Output to a pipe may not be flushed yet. The process ends by itself, or is ended after a second.
process.exitCode = exitCode;
setTimeout(() => end(exitCode), 1_000).unref();

async function start(args: string[]): Promise<number> {
  const { tolerateClosedOutput } = await import('./terminal/terminal.ts');
  tolerateClosedOutput();
  const { parseCommandLine } = await import('./commands/command-line.ts');
  return parseCommandLine(args);
}

/** Ends the process. `process.exit` waits for pending name lookups until they time out; a signal does not. */
function end(code: number): void {
  const signal = ({ 130: 'SIGINT', 143: 'SIGTERM' } as const)[code];
  const isLookingUp = process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap');
  if (signal !== undefined && isLookingUp) process.kill(process.pid, signal);
  process.exit(code);
}

/** Reports too many open files. Modules are files, too, so this function can load none for its message. */
function refuseWithoutFiles(error: NodeJS.ErrnoException): number {
  const isPackage = /better-sqlite3|the "sharp" module/.test(error.message);
  if (isPackage && error.code !== 'EMFILE') return refuseWithoutPackage(error);
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error;
  const what = `nightrender cannot open its own files: too many files are open (${error.code})`;
  process.stderr.write(`${what}. Raise the limit (ulimit -n) and give the same command again.\n`);
  return 14;
}

/** Reports a native package that is missing, or built for another version of Node or another machine. */
function refuseWithoutPackage({ message }: Error): number {
  const [what = ''] = message.split(/\. Tried:|\n/);
  const advice = 'Install it again with the Node that runs it: npm ci in a checkout, npm install elsewhere';
  process.stderr.write(`nightrender cannot load a package that it needs: ${what}. ${advice}.\n`);
  return 2;
}
