/** The choice of a fault, by script and by chance; the same question has the same answer, but for the clock. */
import { chance } from './chance.ts';
import type { ClockedSettings, FaultPlace, ScriptedFault } from './fault-settings.ts';
import { faultTable } from './fault-table.ts';

/** What a script may ask of a request or a job. */
interface About {
  /** The number of the job that a request is about. */
  job?: number | undefined;
  /** Of a job: JSON text. */
  input?: string;
}

export class FaultDraws {
  readonly #settings: ClockedSettings;
  readonly #startedAt: number;

  /** Throws for a fault that there is not. */
  constructor(settings: ClockedSettings) {
    this.#settings = settings;
    this.#startedAt = settings.now();
    for (const { at, fault } of settings.script) assertFault(at, fault);
    for (const [at, shares] of Object.entries(settings.rates))
      for (const fault of shares.keys()) assertFault(at as FaultPlace, fault);
  }

  /** `number` is that of the request or job among those of its place, counted from 1. */
  draw(at: FaultPlace, number: number, about: About): string | undefined {
    const sinceMs = this.#settings.now() - this.#startedAt;
    const scripted = this.#settings.script.find(
      (entry) => entry.at === at && isMetBy(entry, number, about, sinceMs),
    );
    return scripted?.fault ?? this.#drawByRate(at, number);
  }

  #drawByRate(at: FaultPlace, number: number): string | undefined {
    const shares = this.#settings.rates[at];
    if (shares.size === 0) return undefined;
    let left = chance(this.#settings.seed, at, number).draw();
    for (const [fault, share] of shares) {
      if (left < share) return fault;
      left -= share;
    }
    return undefined;
  }
}

function isMetBy(entry: ScriptedFault, number: number, { job, input }: About, sinceMs: number): boolean {
  const { nth, match } = entry;
  if (sinceMs < entry.fromMs || sinceMs >= entry.untilMs) return false;
  if (nth !== null && (number < nth.first || number > nth.last)) return false;
  if (entry.job !== null && entry.job !== job) return false;
  return match === null || (input !== undefined && holds(JSON.parse(input), match));
}

function holds(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value.includes(text);
  return (
    typeof value === 'object' && value !== null && Object.values(value).some((each) => holds(each, text))
  );
}

function assertFault(at: FaultPlace, fault: string): void {
  if (!faultTable[at].some(({ name }) => name === fault)) throw new Error(`no fault ${fault} at ${at}`);
}
