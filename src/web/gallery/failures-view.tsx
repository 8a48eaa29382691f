/** What failed, by kind, and what has exactly that rendered again. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { GalleryFailure } from '../../runner/core/gallery-data.ts';
import { counted } from '../shared/number-words.ts';

interface Props {
  failures: GalleryFailure[];
  onShow(kind: string): void;
}

export function FailuresView({ failures, onShow }: Props): JSX.Element {
  return (
    <section aria-label="Failures" class="failures">
      {failures.length === 0 && <p class="soft">Nothing failed for good.</p>}
      {failures.map(({ kind, means, scenes, text, command }) => (
        <article key={kind}>
          <h2>
            {kind} <span class="soft">{counted(scenes, 'scene')}</span>
          </h2>
          <p class="soft">{means}</p>
          <blockquote dir="auto">{text}</blockquote>
          {command !== null && <Command text={command} />}
          <button type="button" onClick={() => onShow(kind)}>
            Show {scenes === 1 ? 'it' : 'them'}
          </button>
        </article>
      ))}
    </section>
  );
}

function Command({ text }: { text: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // It is selected with one click as well.
      setCopied(false);
    }
  };
  return (
    <p class="command">
      <code>{text}</code>
      <button type="button" onClick={() => void copy()}>
        Copy
      </button>
      <span role="status" class="soft">
        {isCopied ? 'Copied' : ''}
      </span>
    </p>
  );
}
