/** Long texts, texts to copy, and texts to download. */
import type { JSX } from 'preact';
import { countWords } from './number-words.ts';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Browsers take seconds to lay out longer texts. */
const maxShown = 200_000;

interface Props {
  label: string;
  text: string;
}

export function LongText({ label, text, isBad = false }: Props & { isBad?: boolean }): JSX.Element {
  return (
    <pre class={isBad ? 'bad' : ''} dir="auto" tabIndex={0} role="region" aria-label={label}>
      {text.length > maxShown
        ? `${text.slice(0, maxShown)}\n… and ${countWords(text.length - maxShown)} more characters`
        : text}
    </pre>
  );
}

export function Copyable({ label, text }: Props): JSX.Element {
  const code = useRef<HTMLPreElement>(null);
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return;
    const timer = setTimeout(() => setSaid(''), 4_000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied.');
    } catch {
      // Browsers offer the clipboard only on loopback and https.
      if (code.current !== null) getSelection()?.selectAllChildren(code.current);
      setSaid('Selected: copy it with Ctrl+C.');
    }
  };
  return (
    <div class="copyable">
      <div class="row">
        <span class="soft">{label}</span>
        <small role="status">{said}</small>
        <button type="button" class="small" aria-label={`Copy: ${label}`} onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <pre ref={code} tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
    </div>
  );
}

/** Downloads a text file with these lines. */
export function downloadLines(name: string, lines: string[]): void {
  const link = document.createElement('a');
  link.download = name;
  link.href = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'text/plain' }));
  link.click();
  URL.revokeObjectURL(link.href);
}
