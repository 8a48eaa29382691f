/** The head of a page about a batch: its name, how it stands, and a few numbers in a line. */
import type { ComponentChildren, JSX } from 'preact';
import type { Tone } from './tone.ts';

interface Props {
  name: string;
  tone: Tone;
  /** A word or two. */
  state: string;
  /** Of the run, for what reads the page. */
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
