/** Names with values: facts in rows, numbers in tiles, the head of a page, and tones of states. */
import type { ComponentChildren, JSX } from 'preact';

export type Fact = [name: string, value: ComponentChildren];

/** Rows of facts; those without a value are left out. */
export function Facts({ facts }: { facts: Fact[] }): JSX.Element {
  return (
    <dl>
      {facts.map(([name, value], index) =>
        value === null || value === undefined ? null : (
          <div key={index}>
            <dt>
              <bdi>{name}</bdi>
            </dt>
            <dd dir="auto">{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

interface TileProps {
  name: string;
  value: ComponentChildren;
  /** Unit behind the value, in smaller type. */
  unit?: string;
  more?: ComponentChildren;
  tone?: Tone | undefined;
}

/** A number in a `<dl class="tiles">`. */
export function Tile({ name, value, unit, more, tone }: TileProps): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={tone}>
        {value}
        {unit !== undefined && <small> {unit}</small>}
      </dd>
      {more !== undefined && <dd class="hint">{more}</dd>}
    </div>
  );
}

interface Props {
  name: string;
  tone: Tone;
  state: string;
  /** State of the run, as an attribute for programs that read the page. */
  kind?: string;
  children: ComponentChildren;
}

/** The head of a page about a batch: its name, its state, and a line of numbers. */
export function PageHead({ name, tone, state, kind, children }: Props): JSX.Element {
  return (
    <header class="head" data-run={kind}>
      <h1 title={name}>
        <bdi>{name}</bdi>
      </h1>
      <strong class={`state ${tone}`}>{state}</strong>
      {children}
    </header>
  );
}

/** Tone of a state: a CSS class that sets its colour. */
export type Tone = 'good' | 'wait' | 'bad' | 'calm';

/** Tone of a scene's state; undefined for neutral states. */
export function toneOf(state: string): Tone | undefined {
  if (state === 'saved') return 'good';
  if (state === 'failed' || state === 'invalid') return 'bad';
  return state === 'waiting' || state === 'active' ? 'wait' : undefined;
}
