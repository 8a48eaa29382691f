/** A state: its word, with a shape and a colour that say the same. */
import type { ComponentChildren, JSX } from 'preact';
import type { Mood } from './endpoint-words.ts';

export function Mark({ mood, children }: { mood: Mood; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`mark ${mood}`}>
      <span class="shape" aria-hidden="true" />
      <span>{children}</span>
    </span>
  );
}
