/** What has to be answered before the page goes on. */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useId, useRef } from 'preact/hooks';

interface Props {
  title: ComponentChildren;
  children: ComponentChildren;
  /** Not given where it cannot be put aside. */
  onClose?(): void;
}

export function Dialog({ title, children, onClose }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      // Browsers close one by themselves where Escape is pressed twice.
      onClose={() => (onClose === undefined ? dialog.current?.showModal() : onClose())}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
