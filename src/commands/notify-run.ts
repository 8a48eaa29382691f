/** Tells those of a run whom `notify` names. */
import type { Config } from '../config/config.ts';
import { endings } from '../core/ending.ts';
import { startNotifier, type Notifier } from '../notify/notifier.ts';
import type { Listener } from '../pipeline/ports.ts';
import { describeEvent } from '../terminal/describe-event.ts';
import { refusalOf } from './refusal.ts';
import { shownPath } from './shown-path.ts';
import { systemClock } from './system-clock.ts';

export function notifierOf({ notify, folder, apiKey, output }: Config, tell: Listener): Notifier {
  return startNotifier(notify, {
    clock: systemClock,
    folder,
    env: withoutKey(process.env, apiKey),
    describe: (event) => describeEvent(event, Date.now(), shownPath(output.dir)),
    warn: (text) => tell({ type: 'warning', text }),
  });
}

/** By whatever name: commands have no use for it. */
function withoutKey(env: NodeJS.ProcessEnv, apiKey = ''): NodeJS.ProcessEnv {
  const keys = [apiKey, env['NIGHTRENDER_API_KEY'] ?? ''].filter((key) => key !== '');
  const kept = Object.entries(env).filter(([, value = '']) => !keys.some((key) => value.includes(key)));
  return Object.fromEntries(kept);
}

/** A run that something unexpected has ended is no success to anybody. */
export async function tellThrown({ output }: Config, thrown: unknown, notifier: Notifier): Promise<void> {
  const { ending, text } = refusalOf(thrown, output.dir) ?? { ending: 'bug', text: endings.bug.means };
  const { exitCode } = endings[ending];
  const nothing = { report: undefined, cost: undefined, untold: 0 };
  notifier.tell({
    type: 'run-ended',
    ending,
    exitCode,
    text,
    counts: noCounts,
    outputDir: output.dir,
    ...nothing,
  });
  await notifier.close();
}

const noCounts = { waiting: 0, active: 0, saved: 0, failed: 0, withdrawn: 0, invalid: 0 };
