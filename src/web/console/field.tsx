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
        <Coded text={problem} />
      </p>
    </div>
  );
}

/** What stands between backticks is code. */
export function Coded({ text }: { text: string }): JSX.Element {
  return <>{text.split('`').map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</>;
}

interface TextProps extends Omit<Props, 'children'> {
  name?: string | undefined;
  value: string;
  inputMode?: 'numeric' | 'decimal' | 'text';
  /** An example, or what is taken where nothing is typed. */
  placeholder?: string | undefined;
  /** Lines of text; one where left out. */
  rows?: number;
  isCode?: boolean;
  onText(value: string): void;
}

export function TextField(props: TextProps): JSX.Element {
  const { name, value, inputMode = 'text', placeholder, rows = 1, isCode = false, onText, ...field } = props;
  const typed = {
    name,
    value,
    placeholder,
    spellcheck: rows > 1 && !isCode,
    onInput: (event: { currentTarget: { value: string } }) => onText(event.currentTarget.value),
  };
  return (
    <Field {...field}>
      {(attributes) =>
        rows > 1 ? (
          <textarea {...attributes} {...typed} class={isCode ? 'code' : ''} rows={rows} dir="auto" />
        ) : (
          <input {...attributes} {...typed} type="text" dir="auto" autocomplete="off" inputMode={inputMode} />
        )
      }
    </Field>
  );
}

interface OptionProps {
  disabled?: boolean;
  type?: 'checkbox' | 'radio';
  name?: string;
  class?: string;
  checked: boolean;
  'aria-invalid'?: boolean;
  'aria-describedby'?: string;
  children: ComponentChildren;
  onCheck(isOn: boolean): void;
}

/** A box or, as a `radio`, a button with what it means. */
export function Option(props: OptionProps): JSX.Element {
  const { class: name = '', type = 'checkbox', children, onCheck, ...rest } = props;
  return (
    <label class={`option ${name}`}>
      <input {...rest} type={type} onChange={(event) => onCheck(event.currentTarget.checked)} /> {children}
    </label>
  );
}
