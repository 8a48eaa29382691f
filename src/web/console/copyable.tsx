/** Lines that people copy into a terminal or a file. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export function Copyable({ label, text }: { label: string; text: string }): JSX.Element {
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
      // Browsers give the clipboard to loopback and https only.
      if (code.current !== null) getSelection()?.selectAllChildren(code.current);
      setSaid('Selected: copy it with Ctrl+C.');
    }
  };
  return (
    <div class="copyable">
      <div class="copyable-head">
        <span class="soft">{label}</span>
        <span class="soft" role="status">
          {said}
        </span>
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
