/** Notifications of a run, to those that `notify` names. */
import { BatchHeld } from '../runner/checkpoint/batch-lock.ts';
import type { Config } from '../runner/config/config.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { endings } from '../runner/core/ending.ts';
import { startNotifier, type Notifier } from '../runner/notify/notifier.ts';
import { describeEvent } from '../terminal/describe-event.ts';
import { harmless } from '../terminal/fit-text.ts';
import { refusalOf, type Refusal } from './refusal.ts';
import type { RunCall } from './run-call.ts';
import { shownLists, shownPath } from './shown-path.ts';
import { systemClock } from './system-clock.ts';

/** `file` is the pipeline.yaml, as it was given. */
export function notifierOf(file: string, config: Config, warn: (text: string) => void): Notifier {
  const { notify, folder, apiKey, output, env } = config;
  return startNotifier(notify, {
    clock: systemClock,
    about: { manifest: shownLists(config, file), outputDir: output.dir },
    folder,
    env: withoutKey(env, apiKey),
    describe: (event) => {
      const line = describeEvent(event, Date.now(), shownPath(output.dir));
      // It may be read in a terminal there, too.
      return line === undefined ? undefined : harmless(line);
    },
    warn,
  });
}

/** By whatever name: commands have no use for it. */
function withoutKey(env: NodeJS.ProcessEnv, apiKey = ''): NodeJS.ProcessEnv {
  const keys = [apiKey, env['NIGHTRENDER_API_KEY'] ?? ''].filter((key) => key !== '');
  const kept = Object.entries(env).filter(([, value = '']) => !keys.some((key) => value.includes(key)));
  return Object.fromEntries(kept);
}

/**
 * A step before the beginning of a run. One that is refused there is no success either; but where another run holds the
 * batch, all is as it should be: that one reports how it ends.
 */
export async function notifyIfRefused<Result>(
  { file, config, warn }: Pick<RunCall, 'file' | 'config' | 'warn'>,
  step: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (thrown) {
    if (config.notify.length > 0 && !(thrown instanceof BatchHeld))
      await notifyOfError(config, thrown, notifierOf(file, config, warn));
    throw thrown;
  }
}

/** A run that something unexpected has ended is no success to anybody. */
export async function notifyOfError({ output }: Config, thrown: unknown, notifier: Notifier): Promise<void> {
  const { ending, text, problems } = refusalOf(thrown, output.dir) ?? bug;
  const { exitCode } = endings[ending];
  const nothing = { report: undefined, cost: undefined, untold: 0 };
  notifier.emit({
    type: 'run-ended',
    ending,
    exitCode,
    text: textOf(text.replace(/\.$/, ''), problems),
    counts: noCounts,
    outputDir: output.dir,
    ...nothing,
  });
  await notifier.close();
}

const bug: Refusal = { ending: 'bug', text: endings.bug.means, problems: [] };

/** In a chat. */
const maxProblems = 3;

function textOf(text: string, problems: Problem[]): string {
  const first = problems
    .slice(0, maxProblems)
    .map((each) => `${each.where}: ${each.text}`.replace(/^: /, ''));
  return first.length === 0 ? text : `${text}: ${first.join('; ')}`;
}

const noCounts = { waiting: 0, active: 0, saved: 0, failed: 0, withdrawn: 0, invalid: 0 };
