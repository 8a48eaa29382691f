/** What is shown where an address leads to nothing. */
import type { JSX } from 'preact';

interface Props {
  title: string;
  text: string;
  back: string;
}

export function NothingHere({ title, text, back }: Props): JSX.Element {
  return (
    <div class="stack nothing">
      <h1>{title}</h1>
      <p class="soft">{text}</p>
      <p>
        <a href={back}>Back</a>
      </p>
    </div>
  );
}
