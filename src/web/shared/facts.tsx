/** Names with their values: facts in rows, and numbers in tiles. */
import type { ComponentChildren, JSX } from 'preact';
import type { Tone } from './tone.ts';

export type Fact = [name: string, value: ComponentChildren];

/** Without those that have no value. */
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
  /** Stands behind the value, smaller. */
  unit?: string;
  more?: ComponentChildren;
  tone?: Tone | undefined;
}

/** One number of a `<dl class="tiles">`. */
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
