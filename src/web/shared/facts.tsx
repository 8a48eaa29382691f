/** Names with values: facts in rows, and numbers in tiles. */
import type { ComponentChildren, JSX } from 'preact';
import type { Tone } from './tone.ts';

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
