/** Notifies targets of events of a run. A target that fails does not affect the run. */
import { request, type Dispatcher } from 'undici';
import { proxiedAgent } from '../../lib/net/proxied-agent.ts';
import type { ProxyRules } from '../../lib/net/addresses.ts';
import { type EndingKind, type NoticeEvent, type NoticeTarget, NoticeWatch } from '../core/ending.ts';
import { formatDuration } from '../../lib/text/format.ts';
import type { Event } from '../pipeline/event.ts';
import type { Clock, Listener } from '../pipeline/ports.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import type { SceneCounts } from '../core/scene.ts';

export interface NotifierOptions extends Omit<SendOptions, 'dispatcher'> {
  clock: Clock;
  proxies: ProxyRules;
  about: Pick<Notice, 'manifest' | 'outputDir'>;
  /** Describes an event in one line for people. Undefined if the event is not worth a line. */
  describe: (event: Event) => string | undefined;
  /** Called once for each target that cannot be reached. */
  warn: (text: string) => void;
}

export interface Notifier {
  emit: Listener;
  /** Resolves when every target is notified, or after a timeout. Must be called once, at the end. */
  close(): Promise<void>;
}

/** Timeout of each notification, and of all that are pending when the run has ended. */
const maxMs = 10_000;
const maxLines = 20;

export function startNotifier(targets: NoticeTarget[], options: NotifierOptions): Notifier {
  const { clock, describe, about } = options;
  const dispatcher = proxiedAgent(options.proxies, { connect: { timeout: maxMs } });
  const over = new AbortController();
  const cut = new AbortController();
  const run: RunSoFar = { ...about, log: [] };
  const posts = targets.map(
    (target, index) => new Post(target, index, { ...options, dispatcher }, run, cut.signal),
  );
  for (const post of posts) void post.watchForStalls(over.signal);
  return {
    emit: (event) => {
      const line = describe(event);
      if (line !== undefined) run.log = [...run.log, line].slice(-maxLines);
      for (const post of posts) post.take(event);
    },
    close: async () => {
      over.abort();
      const late = clock.sleep(maxMs, cut.signal).then(() => cut.abort());
      await Promise.race([Promise.all(posts.map((post) => post.sent)), late]);
      cut.abort();
      // Cancelled notifications report that at once.
      await Promise.all(posts.map((post) => post.sent));
      await dispatcher.destroy();
    },
  };
}

type RunSoFar = Pick<Notice, 'manifest' | 'outputDir' | 'log'>;

/** One target, which gets its notifications one after the other. */
class Post {
  /** Resolves when each notification was sent or has failed. */
  sent: Promise<void> = Promise.resolve();
  readonly #target: NoticeTarget;
  readonly #index: number;
  readonly #options: NotifierOptions & SendOptions;
  readonly #run: RunSoFar;
  readonly #cut: AbortSignal;
  readonly #watch: NoticeWatch;
  #hasWarned = false;

  constructor(
    target: NoticeTarget,
    index: number,
    options: NotifierOptions & SendOptions,
    run: RunSoFar,
    cut: AbortSignal,
  ) {
    this.#target = target;
    this.#index = index;
    this.#options = options;
    this.#run = run;
    this.#cut = cut;
    this.#watch = new NoticeWatch(target.rules, options.clock.elapsed());
  }

  take(event: Event): void {
    const { rules } = this.#target;
    const now = this.#options.clock.elapsed();
    if (event.type === 'run-started') {
      const { edits } = event;
      // The reader may want to stop the run because of the edits. A ping would only say that a run has begun.
      const isWanted = rules.isStart || (edits !== undefined && this.#target.kind !== 'ping');
      const reason = edits === undefined ? '' : `: ${edits}`;
      if (isWanted) this.#send('start', `The run has started (${event.program})${reason}`);
    }
    if (event.type === 'recovered') this.#watch.submitted(event.inFlight, now);
    if (event.type === 'scene-submitted') this.#watch.submitted(1, now);
    if (event.type === 'scene-saved') this.#finish({ hasFailed: false, wasInFlight: true }, now);
    if (event.type === 'attempt-failed')
      this.#finish({ hasFailed: true, wasInFlight: event.jobId !== undefined }, now);
    if (event.type === 'run-ended') {
      const { ending, exitCode, counts, text } = event;
      const kind = this.#watch.endNotice(ending);
      if (kind !== undefined) this.#send(kind, `${text}.`, { ending, exitCode, counts });
    }
  }

  async watchForStalls(over: AbortSignal): Promise<void> {
    const { rules } = this.#target;
    const { clock } = this.#options;
    if (rules.stallMs === undefined) return;
    for (;;) {
      // No stall can both begin now and become due before this time.
      const at = this.#watch.stallAt ?? clock.elapsed() + rules.stallMs;
      await clock.sleep(Math.max(0, at - clock.elapsed()), over);
      if (over.aborted) return;
      const due = this.#watch.stallAt;
      if (due === undefined || due > clock.elapsed()) continue;
      this.#watch.stallReported();
      const { inFlight } = this.#watch;
      this.#send(
        'stall',
        `Nothing has finished for ${formatDuration(rules.stallMs)}, with ${inFlight} in flight.`,
      );
    }
  }

  #finish(how: { hasFailed: boolean; wasInFlight: boolean }, now: number): void {
    if (this.#watch.finished(how, now))
      this.#send('failures', `${this.#watch.failed.toLocaleString('en')} attempts of this run have failed.`);
  }

  #send(event: NoticeEvent, text: string, end: Partial<Notice> = {}): void {
    const { clock } = this.#options;
    const at = new Date(clock.now()).toISOString();
    const notice: Notice = { event, at, text, ...this.#run, failed: this.#watch.failed, ...end };
    this.sent = this.sent.then(() => this.#postTo(notice));
  }

  async #postTo(notice: Notice): Promise<void> {
    const { clock, warn } = this.#options;
    const done = new AbortController();
    const late = new AbortController();
    void clock.sleep(maxMs, AbortSignal.any([done.signal, this.#cut])).then(() => late.abort());
    const problem = await send(this.#target, notice, this.#options, late.signal);
    done.abort();
    if (problem === undefined || this.#hasWarned) return;
    this.#hasWarned = true;
    warn(
      `${shownTarget(this.#target, this.#index)} was not notified (${notice.event}): ${problem}; the run continues, and this warning is not repeated`,
    );
  }
}

/** Returns `notify[0] (ping, hc-ping.com)`: only the host, because anyone with the URL can post to it. */
function shownTarget({ kind, to }: NoticeTarget, index: number): string {
  return `notify[${index}] (${kind}${kind === 'command' ? '' : `, ${new URL(to).host}`})`;
}

interface SendOptions {
  dispatcher: Dispatcher;
  /** Folder of pipeline.yaml, in which commands run with the environment `env`. */
  folder: string;
  env: NodeJS.ProcessEnv;
}

/** Sends a notification. Returns why it failed, without the secret URL; undefined if it arrived. */
async function send(
  target: NoticeTarget,
  notice: Notice,
  options: SendOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  switch (target.kind) {
    case 'ping':
      return postTo(
        pingUrl(target.to, notice),
        'text/plain; charset=utf-8',
        pingBody(notice),
        options,
        signal,
      );
    case 'slack':
      return postTo(
        target.to,
        'application/json',
        JSON.stringify({ text: asPlainText(noticeText(notice)) }),
        options,
        signal,
      );
    case 'webhook':
      return postTo(target.to, 'application/json', JSON.stringify(notice), options, signal);
    case 'command':
      return runCommand(target.to, notice, options, signal);
  }
}

/** The text contains messages of the service, in which `<!channel>` would alert everybody in a channel. */
function asPlainText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Returns the URL for an event. The plain URL means success, so it is used only if a run saved every scene. */
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

async function postTo(
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
    // The body is not read, because the connection is not used again.
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
  EAI_AGAIN: 'its name cannot be resolved',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
};

/** Never returns error messages, because they may contain the URL, which is a secret. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'no answer in time';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? (reasons[code] ?? code) : 'unknown error';
}

/** Runs the command in a shell and in its own process group, so that killing it also kills its children. */
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
    // Some system errors are thrown and not emitted, and without free file descriptors there is no pipe.
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
    // It has ended by itself, or this is Windows, which has no process groups.
    child.kill('SIGKILL');
  }
}

interface Notice {
  event: NoticeEvent;
  /** ISO 8601 in UTC. */
  at: string;
  text: string;
  /** Paths of the manifests as shown to people. */
  manifest: string[];
  outputDir: string;
  failed: number;
  /** Present at the end of a run: its ending, exit code and number of scenes by state. */
  ending?: EndingKind;
  exitCode?: number;
  counts?: SceneCounts;
  log: string[];
}

/** Formats a notification for people in a chat. */
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
