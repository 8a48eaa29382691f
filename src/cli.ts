/** From argv to a command and from its result to the exit code; the only place that ends the process. */
import { whyUnsupported } from './lib/supported-node.ts';

/** Native modules built for a newer Node end an older one without a word: nothing is loaded before this. */
const unsupported = whyUnsupported(process.versions.node);
if (unsupported !== undefined) {
  process.stderr.write(`${unsupported}.\n`);
  process.exit(2);
}

const exitCode = await start(process.argv.slice(2)).catch(refuseWithoutFiles);
// What is written to a pipe may still be on its way: the process ends when nothing is left to do, or shortly after.
process.exitCode = exitCode;
setTimeout(() => end(exitCode), 1_000).unref();

async function start(args: string[]): Promise<number> {
  const { tolerateClosedOutput } = await import('./terminal/console.ts');
  tolerateClosedOutput();
  const { parseCommandLine } = await import('./commands/command-line.ts');
  return parseCommandLine(args);
}

/** Even an exit waits for names that are being looked up, for as long as the system asks for them; a signal does not. */
function end(code: number): void {
  const signal = ({ 130: 'SIGINT', 143: 'SIGTERM' } as const)[code];
  const isLookingUp = process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap');
  if (signal !== undefined && isLookingUp) process.kill(process.pid, signal);
  process.exit(code);
}

/** The parts of the program are files, too; with too few to be opened, none that would say so can be loaded. */
function refuseWithoutFiles(error: NodeJS.ErrnoException): number {
  const isPackage = /better-sqlite3|the "sharp" module/.test(error.message);
  if (isPackage && error.code !== 'EMFILE') return refuseWithoutPackage(error);
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error;
  const what = `nightrender cannot open its own files: too many files are open (${error.code})`;
  process.stderr.write(`${what}. Raise the limit (ulimit -n) and give the same command again.\n`);
  return 14;
}

/** Its binary is for another Node or machine, or was left out. */
function refuseWithoutPackage({ message }: Error): number {
  const [what = ''] = message.split(/\. Tried:|\n/);
  const advice = 'Install it again with the Node that runs it: npm ci in a checkout, npm install elsewhere';
  process.stderr.write(`nightrender cannot load a package that it needs: ${what}. ${advice}.\n`);
  return 2;
}
