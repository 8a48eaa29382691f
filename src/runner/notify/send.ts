/** Sends a notice to one target; returns why it failed, without the URL, which is a secret. */
import { spawn, type ChildProcess } from 'node:child_process';
import { request, type Dispatcher } from 'undici';
import type { NoticeTarget, NoticeEvent } from '../core/notices.ts';
import type { EndingKind } from '../core/ending.ts';
import type { SceneCounts } from '../core/scene.ts';

export interface SendOptions {
  dispatcher: Dispatcher;
  /** A command runs in the folder of pipeline.yaml, with this environment. */
  folder: string;
  env: NodeJS.ProcessEnv;
}

/** Undefined where it arrived; else the reason. `signal` cuts it off. */
export async function send(
  target: NoticeTarget,
  notice: Notice,
  options: SendOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  switch (target.kind) {
    case 'ping':
      return post(pingUrl(target.to, notice), 'text/plain; charset=utf-8', pingBody(notice), options, signal);
    case 'slack':
      return post(
        target.to,
        'application/json',
        JSON.stringify({ text: asPlainText(noticeText(notice)) }),
        options,
        signal,
      );
    case 'webhook':
      return post(target.to, 'application/json', JSON.stringify(notice), options, signal);
    case 'command':
      return runCommand(target.to, notice, options, signal);
  }
}

/** Words of the service are in it, which would call everybody in a channel with `<!channel>`. */
function asPlainText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The address itself stands for success: only a run that saved every scene is one. */
function pingUrl(to: string, { event, exitCode }: Notice): string {
  const url = new URL(to);
  const end = { start: '/start', failures: '/log', stall: '/log', finish: '', halt: '/fail' }[event];
  const suffix = event === 'finish' && exitCode !== 0 ? '/fail' : end;
  url.pathname = url.pathname.replace(/\/+$/, '') + suffix;
  return url.href;
}

const maxPingBytes = 10_000;

function pingBody(notice: Notice): string {
  return [noticeText(notice), '', ...notice.log].join('\n').slice(0, maxPingBytes);
}

async function post(
  url: string,
  type: string,
  body: string,
  { dispatcher }: SendOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const headers = { 'content-type': type, 'user-agent': 'nightrender' };
    const answer = await request(url, { method: 'POST', headers, body, signal, dispatcher });
    const { statusCode } = answer;
    // Not read: a connection that is never used again need not be drained.
    answer.body.on('error', () => undefined).destroy();
    if (statusCode < 300) return undefined;
    return statusCode < 400
      ? `it redirects (${statusCode}), which is not followed`
      : `it answers ${statusCode}`;
  } catch (error) {
    return reasonOf(error, signal);
  }
}

const reasons: Record<string, string> = {
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be looked up',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
};

/** Messages of errors may hold the address, and addresses are secrets here. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'no answer in time';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? (reasons[code] ?? code) : 'unknown error';
}

/** By the shell, in a process group of its own: all that it starts goes with it. */
function runCommand(
  command: string,
  notice: Notice,
  { folder, env }: SendOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise<string | undefined>((resolve) => {
    const child = spawn(command, {
      shell: true,
      detached: true,
      cwd: folder,
      env: { ...env, ...variablesOf(notice) },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const kill = (): void => {
      killGroup(child);
      resolve('it timed out and was killed');
    };
    signal.addEventListener('abort', kill, { once: true });
    const done = (reason: string | undefined): void => {
      signal.removeEventListener('abort', kill);
      resolve(reason);
    };
    child.on('error', (error) => done(reasonOf(error, signal)));
    child.on('exit', (code, name) =>
      done(code === 0 ? undefined : `it ended with ${code ?? name ?? 'an error'}`),
    );
    child.stdin.on('error', () => undefined).end(`${JSON.stringify(notice)}\n`);
    // Some system errors are thrown rather than emitted, and without free file descriptors there is no pipe.
  }).catch((error: unknown) => reasonOf(error, signal));
}

function variablesOf({ event, text, ending, exitCode }: Notice): NodeJS.ProcessEnv {
  return {
    NIGHTRENDER_EVENT: event,
    NIGHTRENDER_TEXT: text,
    ...(ending !== undefined && { NIGHTRENDER_ENDING: ending }),
    ...(exitCode !== undefined && { NIGHTRENDER_EXIT_CODE: String(exitCode) }),
  };
}

function killGroup(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself, or this is Windows, which has no groups.
    child.kill('SIGKILL');
  }
}

export interface Notice {
  event: NoticeEvent;
  /** ISO, UTC. */
  at: string;
  /** One sentence. */
  text: string;
  /** The manifests, as people read their paths. */
  manifest: string[];
  outputDir: string;
  /** Attempts of this run that failed so far. */
  failed: number;
  /** Of an end: how, with which exit code, and where the batch stands. */
  ending?: EndingKind;
  exitCode?: number;
  counts?: SceneCounts;
  /** The last lines of the run. */
  log: string[];
}

/** For people, in a chat. */
function noticeText({ event, text, manifest, counts }: Notice): string {
  const head = `nightrender, ${manifest.join(', ')}: ${heads[event]}`;
  const isKnown = counts !== undefined && Object.values(counts).some((count) => count > 0);
  const reached = !isKnown
    ? ''
    : `\n${counts.saved} saved, ${counts.failed} failed, ${counts.waiting + counts.active} left`;
  return `${head}\n${text}${reached}`;
}

const heads: Record<NoticeEvent, string> = {
  start: 'started',
  finish: 'ended',
  halt: 'halted',
  failures: 'many failures',
  stall: 'stalled',
};
