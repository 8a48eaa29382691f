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
    return () => {
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      {...attributes}
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      // Browsers close a dialog themselves if Escape is pressed twice.
      onClose={() => (onClose === undefined ? dialog.current?.showModal() : onClose())}
    >
      <div class="row">
        <h2 id={titleId}>{title}</h2>
        {bar}
      </div>
      {children}
    </dialog>
  );
}

interface ViewerProps {
  title: string;
  /** Position among the pictures, such as `3 of 20`. */
  standing?: string;
  picture: JSX.Element;
  children: ComponentChildren;
  hasPrevious: boolean;
  hasNext: boolean;
  onStep(by: 1 | -1): void;
  onClose(): void;
}

/** A dialog for one picture. Arrow keys show the previous or next one. */
export function PictureViewer({
  title,
  standing = '',
  picture,
  children,
  ...rest
}: ViewerProps): JSX.Element {
  const { hasPrevious, hasNext, onStep, onClose } = rest;
  const onKeyDown = ({ key, altKey, ctrlKey, metaKey }: KeyboardEvent): void => {
    if (altKey || ctrlKey || metaKey) return;
    if (key === 'ArrowRight') onStep(1);
    else if (key === 'ArrowLeft') onStep(-1);
  };
  const bar = (
    <>
      <small aria-live="polite">{standing}</small>
      <button type="button" aria-label="Previous" disabled={!hasPrevious} onClick={() => onStep(-1)}>
        ←
      </button>
      <button type="button" aria-label="Next" disabled={!hasNext} onClick={() => onStep(1)}>
        →
      </button>
      <button type="button" aria-label="Close" onClick={onClose}>
        ✕
      </button>
    </>
  );
  return (
    <Dialog
      title={<bdi>{title}</bdi>}
      bar={bar}
      onClose={onClose}
      attributes={{ class: 'viewer', autofocus: true, onKeyDown }}
    >
      <figure>{picture}</figure>
      <div class="stack wide">{children}</div>
    </Dialog>
  );
}
