/** The tool that runs containers, `podman` or `docker`: finding it, and having it do something. */
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { helperEnvironment } from './worker-environment.ts';
import { WorkerLog } from './worker-log.ts';
import { WorkerProcess } from './worker-process.ts';

export interface ContainerTool {
  kind: 'docker' | 'podman';
  /** The program and its global arguments, such as `--runtime runc`. */
  command: readonly string[];
  /** For every container, such as `--ulimit nofile=1024:1024`. */
  containerArguments: readonly string[];
}

/**
 * The one that is wished for, or NIGHTRENDER_CONTAINER_TOOL and NIGHTRENDER_CONTAINER_ARGUMENTS name (words between
 * spaces), or else whichever answers. Rejects, in words, where none does.
 */
export async function findContainerTool(
  options: {
    command?: readonly string[];
    containerArguments?: readonly string[];
  } = {},
  env = process.env,
): Promise<ContainerTool> {
  const named = options.command ?? wordsOf(env['NIGHTRENDER_CONTAINER_TOOL']);
  const containerArguments =
    options.containerArguments ?? wordsOf(env['NIGHTRENDER_CONTAINER_ARGUMENTS']) ?? [];
  const candidates = named === undefined ? [['podman'], ['docker']] : [named];
  const problems: string[] = [];
  for (const command of candidates) {
    const kind = basename(command[0] ?? '').startsWith('podman') ? 'podman' : 'docker';
    const trouble = await probe({ kind, command, containerArguments });
    if (trouble === undefined) return { kind, command, containerArguments };
    problems.push(trouble);
  }
  throw new Error(`containers cannot be run here: ${problems.join('; ')}`);
}

export interface ToolResult {
  /** Null where it was killed, as it is when its time is over. */
  exitCode: number | null;
  stdout: string;
  /** What is wrong, in its own words; empty where it does not say. */
  errorText: string;
}

export interface ToolRequest {
  timeoutMs: number;
  input?: string;
  log?: WorkerLog;
  signal?: AbortSignal | undefined;
}

/** Rejects, in words, where the tool cannot be started at all. */
export async function runTool(
  tool: ContainerTool,
  toolArguments: readonly string[],
  { timeoutMs, input = '', log, signal }: ToolRequest,
): Promise<ToolResult> {
  const run = await WorkerProcess.start({
    title: tool.kind,
    // What Node gives for a standard input is a socket, which cannot be opened as /dev/stdin; a pipe can.
    command: ['/bin/sh', '-c', 'cat | exec "$@"', tool.kind, ...tool.command, ...toolArguments],
    cwd: null,
    environment: helperEnvironment(),
    memoryBytes: null,
  });
  const { stdin, stdout, stderr } = run.pipes;
  const end = (): void => void run.end('it is not waited for');
  const timer = setTimeout(end, timeoutMs);
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted === true) end();
  stdin.on('error', () => undefined).end(input);
  const [output, errors] = [keepEnd(stdout), keepEnd(stderr)];
  log?.follow(stderr);
  await run.ended;
  clearTimeout(timer);
  signal?.removeEventListener('abort', end);
  return { exitCode: run.exitCode, stdout: output(), errorText: lastError(errors()) };
}

const probeMs = 20_000;

async function probe(tool: ContainerTool): Promise<string | undefined> {
  const { exitCode, errorText } = await runTool(tool, ['version'], { timeoutMs: probeMs });
  if (exitCode === 0) return undefined;
  if (exitCode === 127) return `${tool.command[0]} not found`;
  return `${tool.command[0]} does not answer${errorText === '' ? '' : ` (${errorText})`}`;
}

/** The last line of it that does not only say where there is help. */
function lastError(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.findLast((line) => line !== '' && !/^(See|Run|Usage:) /.test(line)) ?? '';
}

function wordsOf(text: string | undefined): string[] | undefined {
  const words = (text ?? '').split(' ').filter(Boolean);
  return words.length === 0 ? undefined : words;
}

const maxKept = 64 * 1024;

function keepEnd(stream: Readable): () => string {
  let kept = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-maxKept);
  });
  return () => kept.toString();
}
