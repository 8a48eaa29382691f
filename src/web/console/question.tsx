/** A question before something that cannot be taken back. */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { troubleWords } from './ask.ts';
import { Dialog } from './dialog.tsx';

interface Props {
  title: ComponentChildren;
  children: ComponentChildren;
  /** What is done, on the button. */
  action: string;
  /** Closes the question by itself where it succeeds. */
  onYes(): Promise<void>;
  onClose(): void;
}

export function Question({ title, children, action, onYes, onClose }: Props): JSX.Element {
  const [isBusy, setIsBusy] = useState(false);
  const [trouble, setTrouble] = useState('');
  const act = async (): Promise<void> => {
    if (isBusy) return;
    setIsBusy(true);
    setTrouble('');
    try {
      await onYes();
      onClose();
    } catch (error) {
      setTrouble(troubleWords(error));
      setIsBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">{children}</div>
      {trouble !== '' && (
        <p class="problem" role="alert">
          {trouble}
        </p>
      )}
      <div class="buttons end">
        <button type="button" onClick={onClose}>
          No, leave it
        </button>
        <button type="button" class="danger" aria-disabled={isBusy} onClick={() => void act()}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
