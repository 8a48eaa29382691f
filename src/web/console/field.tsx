/** A field with its label, a hint, and what is wrong with it. */
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

/** For the element that is typed into. */
export interface FieldAttributes {
  id: string;
  'aria-invalid': boolean;
  'aria-describedby': string;
}

interface Props {
  label: string;
  hint?: ComponentChildren;
  /** Empty where nothing is wrong. */
  problem: string;
  class?: string;
  /** Whether what is wrong is said aloud at once. */
  isAlert?: boolean;
  children(attributes: FieldAttributes): ComponentChildren;
}

export function Field({
  label,
  hint,
  problem,
  class: name = '',
  isAlert = false,
  children,
}: Props): JSX.Element {
  const id = useId();
  return (
    <div class={`field ${name}`}>
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-invalid': problem !== '',
        'aria-describedby': `${hint === undefined ? '' : `${id}-hint `}${id}-problem`,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      <p id={`${id}-problem`} class="problem" role={isAlert ? 'alert' : undefined}>
        {problem}
      </p>
    </div>
  );
}

interface TextProps {
  label: string;
  hint?: ComponentChildren;
  problem: string;
  value: string;
  /** How long what is typed usually is. */
  class?: string;
  inputMode?: 'numeric' | 'decimal' | 'text';
  onText(value: string): void;
}

export function TextField({
  label,
  hint,
  problem,
  value,
  onText,
  inputMode = 'text',
  ...rest
}: TextProps): JSX.Element {
  return (
    <Field label={label} hint={hint} problem={problem} {...rest}>
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          dir="auto"
          autocomplete="off"
          spellcheck={false}
          inputMode={inputMode}
          value={value}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
