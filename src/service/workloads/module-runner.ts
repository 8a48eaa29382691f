/** Program that runs a module's `handler`. Jobs and answers are JSON lines on file descriptor 3. */
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { readLines } from './worker-log.ts';

interface Job {
  id: string;
  input: Record<string, unknown>;
}

interface Context {
  log(text: unknown): void;
  progress(message: unknown): void;
}

type Handler = (job: Job, context: Context) => unknown;

const maxJobBytes = 256 * 1024 * 1024;

const channel = new Socket({ fd: 3, readable: true, writable: true });
channel.on('error', () => undefined);
// The channel closes when the service has ended.
channel.once('close', () => process.exit());

const path = resolve(process.argv[2] ?? '');
try {
  const handler = await loadHandler(path);
  readLines(channel, maxJobBytes, ({ bytes }) => void answer(handler, JSON.parse(bytes.toString()) as Job));
  void send({ ready: true });
} catch (error) {
  void send({ log: inspect(error) });
  void send({ failed: `the module ${path} cannot be loaded: ${messageOf(error)}` });
}

async function loadHandler(file: string): Promise<Handler> {
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  // Node does not detect every name that a CommonJS module exports.
  const { handler = (module['default'] as { handler?: unknown } | undefined)?.handler } = module;
  if (typeof handler !== 'function') throw new Error('it exports no function named handler');
  return handler as Handler;
}

async function answer(handler: Handler, { id, input }: Job): Promise<void> {
  try {
    const result = await handler({ id, input }, contextOf(id));
    const output = isGenerator(result) ? await stream(id, result) : result;
    await send({ id, output: output ?? null });
  } catch (error) {
    void send({ log: inspect(error) });
    void send({ id, error: messageOf(error) });
  }
}

function contextOf(id: string): Context {
  return {
    log: (text) => void send({ log: typeof text === 'string' ? text : inspect(text) }),
    progress: (message) => void send({ id, progress: message ?? null }),
  };
}

function isGenerator(result: unknown): result is AsyncGenerator {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result && 'next' in result;
}

async function stream(id: string, parts: AsyncGenerator): Promise<unknown> {
  const items: unknown[] = [];
  for (;;) {
    const { done, value } = await parts.next();
    if (done === true) return value ?? items;
    items.push(value);
    await send({ id, stream: value ?? null });
  }
}

/** Sends a message and resolves when it is written to the pipe. Throws if it cannot be written as JSON. */
function send(message: Record<string, unknown>): Promise<void> {
  const line = `${JSON.stringify(message)}\n`;
  return new Promise((taken) => channel.write(line, () => taken()));
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' ? error : inspect(error);
}
