/** What goes wrong on purpose, in words for the terminal and the console. */
import { faultPlaces, type FaultPlace, type FaultSettings, type ScriptedFault } from './fault-settings.ts';
import { faultTable } from './fault-table.ts';

/** Loud lines, the first of which says it all. */
export function describeFaults(settings: FaultSettings): string[] {
  const { seed, script } = settings;
  const rates = faultPlaces.flatMap((place) => describeRates(place, settings));
  return [
    `FAULTS ARE ON: this service does wrong on purpose (seed ${seed}). Nothing that fails here says anything about your batch.`,
    ...rates,
    ...script.map((entry) => `  ${describeScripted(entry)}`),
    ...(rates.length + script.length === 0 ? ['  no fault is asked for so far'] : []),
    '  To serve without faults, start it again without --faults.',
  ];
}

const things: Record<FaultPlace, { one: string; many: string }> = {
  submit: { one: 'submission', many: 'submissions' },
  status: { one: 'status request', many: 'status requests' },
  job: { one: 'job', many: 'jobs' },
  everything: { one: 'request', many: 'requests' },
};

const mostNamed = 8;

function describeRates(place: FaultPlace, { rates }: FaultSettings): string[] {
  const shares = [...rates[place]];
  if (shares.length === 0) return [];
  const whole = shares.reduce((sum, [, share]) => sum + share, 0);
  const isEven = shares.every(([, share]) => share === shares[0]?.[1]);
  if (isEven && shares.length > mostNamed)
    return [
      `  of the ${things[place].many}: one of ${shares.length} faults at random, ${percent(whole)} in all`,
    ];
  const named = shares.slice(0, mostNamed).map(([name, share]) => `${name} ${percent(share)}`);
  const rest = shares.length - named.length;
  const more = rest > 0 ? ` and ${rest} more` : '';
  const sum = shares.length > 1 ? `, ${percent(whole)} in all` : '';
  return [`  of the ${things[place].many}: ${named.join(', ')}${more}${sum}`];
}

/** `12.5 %`; very small shares are not told as none. */
function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}

function describeScripted(entry: ScriptedFault): string {
  const { at, nth, job, match, fault } = entry;
  const { one, many } = things[at];
  const which =
    nth === null ? `every ${one}` : nth.first === nth.last ? `${one} ${nth.first}` : `${many} ${range(nth)}`;
  const about = job === null ? '' : ` about job ${job}`;
  const holding = match === null ? '' : ` with ${JSON.stringify(match)} in the input`;
  const says = faultTable[at].find(({ name }) => name === fault)?.says ?? '';
  return `${which}${about}${holding}${when(entry)}: ${fault} (${says.replace(/\.$/, '')})`;
}

function range({ first, last }: { first: number; last: number }): string {
  return `${first} to ${last}`;
}

function when({ fromMs, untilMs }: ScriptedFault): string {
  const lasting = untilMs === Infinity ? '' : ` for ${inSeconds(untilMs - fromMs)}`;
  const from = fromMs === 0 ? '' : `, from ${inSeconds(fromMs)} after the start`;
  return lasting === '' || from !== '' ? `${from}${lasting}` : `,${lasting} from the start`;
}

function inSeconds(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1_000} s`;
}
