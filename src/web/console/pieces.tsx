/** Elements that several pages of the console use. */
import type { ComponentChildren, JSX } from 'preact';
import type { Tone } from '../shared/facts.tsx';
import type { Polled } from './ask.ts';

/** A state as a word, with a shape and a colour. */
export function Mark({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`mark ${tone}`}>
      <span class="shape" aria-hidden="true" />
      <span>{children}</span>
    </span>
  );
}

export function Card({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card stack" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface NothingProps {
  title: string;
  text: string;
  back: string;
}

export function NothingHere({ title, text, back }: NothingProps): JSX.Element {
  return (
    <>
      <h1>{title}</h1>
      <p class="soft">{text}</p>
      <p>
        <a href={back}>Back</a>
      </p>
    </>
  );
}

/** Placeholder until there is data, or the reason why there is none. */
export function Waiting({ polled: { data, refused } }: { polled: Polled<unknown> }): JSX.Element | null {
  if (refused !== undefined) return <p class="message bad">{refused.message}</p>;
  return data === undefined ? <p class="soft">Looking …</p> : null;
}
