/** Finds the tool that runs containers (`podman` or `docker`), runs its commands, and checks names of images. */
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { helperEnvironment } from './worker-environment.ts';
import { WorkerLog } from './worker-log.ts';
import { WorkerProcess } from './worker-process.ts';

export interface ContainerTool {
  kind: 'docker' | 'podman';
  /** Program and its global arguments, such as `--runtime runc`. */
  command: readonly string[];
  /** Arguments for every container, such as `--ulimit nofile=1024:1024`. */
  containerArguments: readonly string[];
}

/**
 * Finds the container tool: the one in `options`, or in NIGHTRENDER_CONTAINER_TOOL and NIGHTRENDER_CONTAINER_ARGUMENTS
 * (words separated by spaces), or else podman or docker, whichever answers first. Rejects with a message for people if
 * none answers.
 */
export async function findContainerTool(
  options: {
    command?: readonly string[];
    containerArguments?: readonly string[];
  } = {},
  env = process.env,
): Promise<ContainerTool> {
  const named = options.command ?? splitWords(env['NIGHTRENDER_CONTAINER_TOOL']);
  const containerArguments =
    options.containerArguments ?? splitWords(env['NIGHTRENDER_CONTAINER_ARGUMENTS']) ?? [];
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

interface ToolResult {
  /** Exit code of the tool; null if it was killed, for example after the timeout. */
  exitCode: number | null;
  stdout: string;
  /** Last error message of the tool; empty if it wrote none. */
  errorText: string;
}

interface ToolRequest {
  timeoutMs: number;
  input?: string;
  log?: WorkerLog;
  signal?: AbortSignal | undefined;
}

/** Runs one command of the tool and waits until it ends. Rejects only if the tool cannot be started. */
export async function runTool(
  tool: ContainerTool,
  toolArguments: readonly string[],
  { timeoutMs, input = '', log, signal }: ToolRequest,
): Promise<ToolResult> {
  const run = await WorkerProcess.start({
    title: tool.kind,
    // Node passes a socket as standard input. Only a pipe, as `cat` makes it, can be opened as /dev/stdin.
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

/** Returns the last line that says more than where to find help; empty if there is none. */
function lastError(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.findLast((line) => line !== '' && !/^(See|Run|Usage:) /.test(line)) ?? '';
}

function splitWords(text: string | undefined): string[] | undefined {
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

const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const host = String.raw`(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*:\d+)`;
const tag = ':[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const digest = '@sha256:[0-9a-f]{64}';

/** An image name may start with a registry, and have a digest after its tag or instead of it. */
const imagePattern = `^(?:${host}/${component}|${component}/${component})(?:/${component})*(?:${tag}(?:${digest})?|${digest})$`;

const imageName = new RegExp(imagePattern);

const maxLength = 255;

/** Schema of the name of a container image: `<registry_user>/<image_name>:<tag>`. */
export const image = z
  .string('an image such as user/name:1.0')
  .superRefine((name, context) => {
    const message = imageExpected(name);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .meta({ pattern: imagePattern });

/** Returns the form that is expected instead of `text`; undefined if the image name is valid. */
export function imageExpected(text: string): string | undefined {
  if (text.length > maxLength) return `an image of at most ${maxLength} characters`;
  if (imageName.test(text)) return undefined;
  if (imageName.test(`${text}:1`)) return `a tag or digest as well, such as ${text}:1.0`;
  if (imageName.test(`user/${text}`)) return `the registry's user in front, such as library/${text}`;
  if (imageName.test(`user/${text}:1`))
    return `the registry's user and a tag as well, such as library/${text}:1.0`;
  if (imageName.test(text.toLowerCase())) return 'an image in lower case, such as user/name:1.0';
  return 'an image such as user/name:1.0 or registry.example.com:5000/user/name:1.0';
}
