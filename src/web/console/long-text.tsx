/** Text of unknown length, as it is. */
import type { JSX } from 'preact';

/** Beyond this a browser takes seconds to lay it out. */
const mostShown = 200_000;

export function LongText({
  label,
  text,
  isBad = false,
}: {
  label: string;
  text: string;
  isBad?: boolean;
}): JSX.Element {
  return (
    <pre class={isBad ? 'long bad' : 'long'} tabIndex={0} role="region" aria-label={label}>
      {text.length > mostShown
        ? `${text.slice(0, mostShown)}\n… and ${text.length - mostShown} more characters`
        : text}
    </pre>
  );
}
