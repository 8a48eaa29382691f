/** The head of a page about a batch: its name, its state, and a line of numbers. */
import type { ComponentChildren, JSX } from 'preact';
import type { Tone } from './tone.ts';

interface Props {
  name: string;
  tone: Tone;
  state: string;
  /** State of the run, as an attribute for programs that read the page. */
  kind?: string;
  children: ComponentChildren;
}

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
