/** A run as it is asked for, by the command or by another program. */
import type { Config } from '../runner/config/config.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import type { RunView } from '../terminal/view.ts';
import type { RunChoices } from './begin-options.ts';

export interface RunCall {
  /** The pipeline.yaml, as it was given. */
  file: string;
  config: Config;
  choices: RunChoices;
  stop: Stop;
  /** Shows the run, from its first event on. */
  openView: () => RunView;
  /** Before that, for what went wrong with a notification. */
  warn: (text: string) => void;
}

/** Listens to one run, and tells the targets how it ended. */
export interface RunNotifier {
  emit: Listener;
  /** Tells how the run ended. Resolves once each target was told, or after a time-out. */
  end: (ended: RunEnded) => Promise<void>;
  /** Like `end`, for a run that was refused or that an error has ended. */
  endByError: (thrown: unknown) => Promise<void>;
}

/** A call whose targets of `notify` listen. */
export interface NotifiedCall extends RunCall {
  notifier: RunNotifier;
}

export type RunEnded = Event & { type: 'run-ended' };
