/** Tells the targets of `notify` about a run: its events, and its end, even if it was refused or threw. */
import type { Problem } from '../lib/yaml/problem.ts';
import { BatchInUse } from '../runner/checkpoint/batch-lock.ts';
import type { Config } from '../runner/config/config.ts';
import { endings } from '../runner/core/ending.ts';
import { type Notifier, startNotifier } from '../runner/notify/notifier.ts';
import type { RunEnded } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { describeEvent } from '../terminal/describe-event.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import type { RunRequest } from './record.ts';
import { type Refusal, refusalOf, shownLists, shownPath } from './refusal.ts';
import { systemClock } from './system-clock.ts';

/** Passes the events of one run on, and tells the targets how it ended. */
export interface RunNotifier {
  emit: Listener;
  /** Notifies the targets of the end. Resolves once each is notified, or after a timeout. */
  end: (ended: RunEnded) => Promise<void>;
  /** Like `end`, for a run that was refused or ended by an error. */
  endByError: (thrown: unknown) => Promise<void>;
}

/**
 * Passes a notifier to the work, and notifies the targets if the work throws, because silence would look like
 * success. If another run holds the batch, no notification is sent, because that run reports its own
 * end.
 */
export async function withNotifier<Result>(
  { file, config, emit }: RunRequest & { emit: Listener },
  work: (notifier: RunNotifier) => Promise<Result>,
): Promise<Result> {
  const notifier = notifierOf(file, config, (text) => emit({ type: 'warning', text }));
  let hasEnded = false;
  const end = async (ended: RunEnded): Promise<void> => {
    hasEnded = true;
    notifier.emit(ended);
    await notifier.close();
  };
  const endByError = (thrown: unknown): Promise<void> => end(endedBy(thrown, config.output.dir));
  try {
    return await work({ emit: notifier.emit, end, endByError });
  } catch (thrown) {
    if (!hasEnded) await (thrown instanceof BatchInUse ? notifier.close() : endByError(thrown));
    throw thrown;
  }
}

/** `file` is the path of pipeline.yaml as given. */
function notifierOf(file: string, config: Config, warn: (text: string) => void): Notifier {
  const { notify, folder, output } = config;
  return startNotifier(notify, {
    clock: systemClock,
    proxies: config.proxies,
    about: { manifest: shownLists(config, file), outputDir: output.dir },
    folder,
    env: withoutKeys(config),
    describe: (event) => {
      const line = describeEvent(event, Date.now(), shownPath(output.dir));
      // A target may print the line to a terminal.
      return line === undefined ? undefined : escapeControls(line);
    },
    warn,
  });
}

/** Returns the environment without variables that contain a key, whatever their names, because commands do not need them. */
function withoutKeys({ env, apiKey = '', comfyApiKey = '' }: Config): NodeJS.ProcessEnv {
  const keys = [apiKey, comfyApiKey, env['NIGHTRENDER_API_KEY'] ?? ''].filter((key) => key !== '');
  const kept = Object.entries(env).filter(([, value = '']) => !keys.some((key) => value.includes(key)));
  return Object.fromEntries(kept);
}

/** Returns the end of a run that threw. An unexpected error is the ending `bug`. */
function endedBy(thrown: unknown, outputDir: string): RunEnded {
  const { ending, text, problems } = refusalOf(thrown, outputDir) ?? bug;
  return {
    type: 'run-ended',
    ending,
    exitCode: endings[ending].exitCode,
    text: textOf(text.replace(/\.$/, ''), problems),
    counts: noCounts,
    outputDir,
    report: undefined,
    cost: undefined,
    untold: 0,
  };
}

const bug: Refusal = { ending: 'bug', text: endings.bug.means, problems: [] };

/** Maximum number of problems in a notification, which may be read in a chat. */
const maxProblems = 3;

function textOf(text: string, problems: Problem[]): string {
  const first = problems
    .slice(0, maxProblems)
    .map((each) => `${each.where}: ${each.text}`.replace(/^: /, ''));
  return first.length === 0 ? text : `${text}: ${first.join('; ')}`;
}

const noCounts = { waiting: 0, active: 0, saved: 0, failed: 0, withdrawn: 0, invalid: 0 };
