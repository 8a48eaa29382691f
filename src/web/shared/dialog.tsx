/** Modal dialogs: a general one, and a viewer that shows one picture as large as the window allows. */
import type { ComponentChildren, DialogHTMLAttributes, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  title: ComponentChildren;
  bar?: ComponentChildren;
  children: ComponentChildren;
  /** If unset, the dialog cannot be closed. */
  onClose?(): void;
  attributes?: DialogHTMLAttributes;
}

export function Dialog({ title, bar, children, onClose, attributes = {} }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    // Browsers would focus the first button, which keys such as the space bar would press.
    if (attributes.autofocus === true) shown?.focus();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      {...attributes}
      tabIndex={-1}
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClose={({ currentTarget }) => {
        // The event of a removed dialog comes late: by then another place may be open, which it would close.
        if (!currentTarget.isConnected) return;
        // Browsers close a dialog themselves if Escape is pressed twice.
        if (onClose === undefined) currentTarget.showModal();
        else onClose();
      }}
    >
      <div class="row">
        <h2 id={titleId}>{title}</h2>
        {bar}
      </div>
      {children}
    </dialog>
  );
}
