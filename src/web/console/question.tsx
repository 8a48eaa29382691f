/** A button for an action that cannot be undone, with a confirmation dialog. */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from '../shared/dialog.tsx';
import { useSending } from './form.tsx';

interface Props {
  button: string;
  /** Accessible name, if the button's text is not specific enough. */
  label?: string;
  isSmall?: boolean;
  /** Question, followed by the name of the thing. */
  question: string;
  name: string;
  children: ComponentChildren;
  /** Text of the button that confirms. */
  action: string;
  /** Does the action. The dialog closes if it succeeds. */
  onYes(): Promise<void>;
}

export function Question(props: Props): JSX.Element {
  const { button, label, isSmall = false, question, name, ...rest } = props;
  const [isAsked, setIsAsked] = useState(false);
  const title = (
    <>
      {question} “<bdi>{name}</bdi>”?
    </>
  );
  return (
    <>
      <button
        type="button"
        class={isSmall ? 'small' : ''}
        aria-label={label}
        onClick={() => setIsAsked(true)}
      >
        {button}
      </button>
      {isAsked && <ConfirmDialog title={title} {...rest} onClose={() => setIsAsked(false)} />}
    </>
  );
}

interface ConfirmProps extends Pick<Props, 'children' | 'action' | 'onYes'> {
  title: ComponentChildren;
  onClose(): void;
}

export function ConfirmDialog({ title, children, action, onYes, onClose }: ConfirmProps): JSX.Element {
  const { problems, isBusy, send } = useSending(async () => {
    await onYes();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">{children}</div>
      <p class="problem" role="alert">
        {problems[0]?.text}
      </p>
      <div class="row end">
        <button type="button" onClick={onClose}>
          No, leave it
        </button>
        <button type="button" class="bad" aria-disabled={isBusy} onClick={() => send()}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
